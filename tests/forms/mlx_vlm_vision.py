"""The resampling kernels that mlx-vlm's vision towers share, with kernels and without.

python -m tests.forms.mlx_vlm_vision on|off FILE.npz
"""

from __future__ import annotations

import sys


def main(mode: str, file: str) -> None:
    names = []
    if mode == "on":
        import metalloid.mlx
        from metalloid import config
        from metalloid.runtime.watch import Watcher, watchers

        metalloid.mlx.install()
        config.guard_as_hardware()  # grid_sample reads beside the image and multiplies by 0

        class Count(Watcher):
            def before(self, kernel, launch):
                names.append(kernel.name)
                return False

        watchers.append(Count())
    import mlx.core as mx
    from mlx_vlm.models import kernels

    mx.random.seed(3)
    image = mx.random.normal((2, 3, 7, 9))
    grid = mx.random.uniform(-1.1, 1.1, (2, 5, 6, 2))
    rows, columns = mx.random.randint(0, 7, (5, 4)), mx.random.randint(0, 9, (6, 4))
    weights = mx.softmax(mx.random.normal((11, 4)), axis=-1)
    last = image.transpose(0, 2, 3, 1)
    made = {
        "nearest": kernels.nearest_interpolate(image, size=(13, 5)),
        "bicubic": kernels.bicubic_interpolate(image, size=(13, 5)),
        "bicubic_corners": kernels.bicubic_interpolate(image, size=(4, 17), align_corners=True),
        "bicubic_antialias": kernels.bicubic_interpolate(image, size=(4, 5), antialias=True),
        "grid_sample": kernels.grid_sample(last, grid),
        "separable": kernels.separable_interpolate(
            last, rows.astype(mx.int32), weights[:5], columns.astype(mx.int32), weights[5:]
        ),
    }
    mx.eval(made)
    mx.savez(file, **made)
    print(mode, len(names), sorted(set(names)))


if __name__ == "__main__":
    main(*sys.argv[1:])
