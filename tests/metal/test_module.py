"""`import Metal`: what is put in place, and what bad input is told in Metal's own words."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import metalloid.metal
from metalloid.errors import DeviceError

TEXT = (
    "kernel void fill(device int* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = int(i) + 1; }"
)


@pytest.fixture(scope="module", autouse=True)
def served():
    with metalloid.metal.installed():
        yield


@pytest.fixture(scope="module")
def Metal():
    import Metal

    return Metal


@pytest.fixture(scope="module")
def device(Metal):
    return Metal.MTLCreateSystemDefaultDevice()


@pytest.fixture(scope="module")
def pipeline(device):
    library, error = device.newLibraryWithSource_options_error_(TEXT, None, None)
    assert error is None
    return device.newComputePipelineStateWithFunction_error_(library.newFunctionWithName_("fill"), None)[0]


def test_it_is_there_on_request_only_and_gone_afterwards():
    program = """
        import sys
        import metalloid.metal
        try:
            import Metal
            raise SystemExit("nobody asked for it")
        except ImportError:
            pass
        metalloid.metal.install()
        import Metal, Foundation, objc, libdispatch
        assert Metal.MTLSizeMake(1, 2, 3) == (1, 2, 3) and Metal.__spec__.origin == "metalloid"
        metalloid.metal.uninstall()
        assert "Metal" not in sys.modules
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=100
    )
    assert ran.returncode == 0, ran.stderr


def test_the_real_module_stays_in_front(tmp_path):
    (tmp_path / "Metal.py").write_text("real = True\n")
    program = "import metalloid.metal; metalloid.metal.install(); import Metal; assert Metal.real"
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, timeout=100)
    assert ran.returncode == 0, ran.stderr


def test_uninstall_without_install_is_refused():
    depth = metalloid.metal._depth
    for _ in range(depth):
        metalloid.metal.uninstall()
    try:
        with pytest.raises(DeviceError, match="without install"):
            metalloid.metal.uninstall()
    finally:
        for _ in range(depth):
            metalloid.metal.install()


def test_enumerations_have_apples_values(Metal):
    assert Metal.MTLResourceStorageModePrivate == 32 and Metal.MTLResourceHazardTrackingModeUntracked == 256
    assert Metal.MTLGPUFamilyApple7 == 1007 and Metal.MTLGPUFamilyMetal3 == 5001
    assert Metal.MTLLanguageVersion3_1 == 0x30001 and Metal.MTLMathModeFast == 2
    assert (
        Metal.MTLDataTypeFloat == 3 and Metal.MTLDataTypeBool == 53 and Metal.MTLPixelFormatRGBA8Unorm == 70
    )
    assert Metal.MTLCommandBufferStatusCompleted == 4 and Metal.MTLCommandBufferErrorPageFault == 3
    assert Metal.MTLResourceOptions(0) == 0 and Metal.MTLDispatchTypeConcurrent == 1


def test_structs_are_tuples_with_names(Metal):
    size = Metal.MTLSize(4, 2)
    assert size == (4, 2, 0) and size.height == 2 and list(size) == [4, 2, 0] and size[0] == 4
    size.depth = 1
    assert tuple(size) == (4, 2, 1) and size._asdict() == {"width": 4, "height": 2, "depth": 1}
    assert Metal.MTLRegionMake2D(1, 2, 3, 4).size == (3, 4, 1)
    with pytest.raises(TypeError, match="takes width, height, depth"):
        Metal.MTLSize(1, 2, 3, 4)


def test_unknown_selectors_are_told_as_objective_c_does(Metal, device):
    with pytest.raises(
        AttributeError, match=r"-\[MTLDevice newThing:error:\]: unrecognized selector sent to"
    ):
        device.newThing_error_(1, None)
    with pytest.raises(
        AttributeError, match=r"\+\[MTLCompileOptions make\]: unrecognized selector sent to class"
    ):
        Metal.MTLCompileOptions.make()
    assert not hasattr(device, "newThing_error_") and device.respondsToSelector_("newCommandQueue")
    with pytest.raises(AttributeError):
        _ = Metal.MTLNoSuchThing


def test_released_objects_say_so(device):
    buffer = device.newBufferWithLength_options_(16, 0)
    buffer.retain()
    buffer.release()
    assert buffer.length() == 16
    buffer.release()
    with pytest.raises(
        Exception, match=r"\*\*\* -\[MTLBuffer length\]: message sent to deallocated instance"
    ):
        buffer.length()


def _commands(device):
    return device.newCommandQueue().commandBuffer()


def _two_encoders(device, pipeline):
    commands = _commands(device)
    first = commands.computeCommandEncoder()
    try:
        commands.blitCommandEncoder()
    finally:
        first.endEncoding()


def _open_encoder(device, pipeline):
    commands = _commands(device)
    encoder = commands.computeCommandEncoder()
    try:
        commands.commit()
    finally:
        encoder.endEncoding()


def _twice(device, pipeline):
    commands = _commands(device)
    commands.commit()
    commands.waitUntilCompleted()
    commands.commit()


def _late_handler(device, pipeline):
    commands = _commands(device)
    commands.commit()
    commands.addCompletedHandler_(print)


def _encoding(*calls):
    """Make these calls on an open encoder."""

    def run(device, pipeline):
        encoder = _commands(device).computeCommandEncoder()
        buffer = device.newBufferWithLength_options_(64, 0)
        names = {"PIPELINE": pipeline, "BUFFER": buffer}
        try:
            for name, *arguments in calls:
                getattr(encoder, name)(*(names.get(a, a) if isinstance(a, str) else a for a in arguments))
        finally:
            if encoder._open:
                encoder.endEncoding()

    return run


_SET = ("setComputePipelineState_", "PIPELINE")
BAD = {
    "A command encoder is already encoding to this command buffer": _two_encoders,
    "commit command buffer with uncommitted encoder": _open_encoder,
    "commit an already committed command buffer": _twice,
    "Completed handler provided after commit call": _late_handler,
    "command buffer must be committed before": lambda d, p: _commands(d).waitUntilCompleted(),
    "computePipelineState must not be nil.": _encoding(("setComputePipelineState_", None)),
    "a compute pipeline state must be set": _encoding(
        ("dispatchThreads_threadsPerThreadgroup_", (1, 1, 1), (1, 1, 1))
    ),
    r"index\(31\) must be < 31.": _encoding(("setBuffer_offset_atIndex_", "BUFFER", 0, 31)),
    r"offset\(64\) must be < \[buffer length\]\(64\).": _encoding(
        ("setBuffer_offset_atIndex_", "BUFFER", 64, 0)
    ),
    r"length\(5000\) must be > 0 and <= 4096.": _encoding(("setBytes_length_atIndex_", b"x" * 5000, 5000, 0)),
    r"\(2048\) must be <= 1024. \(kernel threadgroup size limit\)": _encoding(
        _SET, ("dispatchThreads_threadsPerThreadgroup_", (1, 1, 1), (2048, 1, 1))
    ),
    "endEncoding has already been called": _encoding(("endEncoding",), ("endEncoding",)),
    "setBuffer after end_encoding|set_buffer after end_encoding": _encoding(
        ("endEncoding",), ("setBuffer_offset_atIndex_", "BUFFER", 0, 0)
    ),
    "pop_debug_group without a push_debug_group": _encoding(("popDebugGroup",)),
    "Cannot create buffer of zero length": lambda d, p: d.newBufferWithLength_options_(0, 0),
    "computeFunction must not be nil": lambda d, p: d.newComputePipelineStateWithFunction_error_(None, None),
    "textures are not supported by metalloid": lambda d, p: d.newTextureWithDescriptor_(None),
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input_fails_metals_assertions(words, Metal, device, pipeline):
    import objc

    with pytest.raises(objc.error, match=rf"(?s)-\[MTL\w+ [\w:]+\]: failed assertion `.*({words})"):
        BAD[words](device, pipeline)


def test_values_that_are_too_short_are_pythons_errors(device, pipeline):
    with pytest.raises(ValueError, match="buffer too small: 2 bytes, 4 asked for"):
        _encoding(("setBytes_length_atIndex_", b"ab", 4, 0))(device, pipeline)
    with pytest.raises(TypeError, match="expected an object with the buffer interface, got int"):
        _encoding(("setBytes_length_atIndex_", 5, 4, 0))(device, pipeline)
    with pytest.raises(ValueError, match="200 bytes of a buffer of 64"):
        device.newBufferWithLength_options_(64, 0).contents().as_buffer(200)


def test_grids_without_threads_do_nothing(device, pipeline):
    buffer = device.newBufferWithLength_options_(16, 0)
    commands = _commands(device)
    encoder = commands.computeCommandEncoder()
    encoder.setComputePipelineState_(pipeline)
    encoder.setBuffer_offset_atIndex_(buffer, 0, 0)
    encoder.dispatchThreads_threadsPerThreadgroup_((0, 1, 1), (4, 1, 1))
    encoder.endEncoding()
    commands.commit()
    commands.waitUntilCompleted()
    assert commands.error() is None and bytes(buffer.contents().as_buffer(16)) == bytes(16)


def test_libraries_travel_as_bytes(device, tmp_path):
    import libdispatch

    library, _ = device.newLibraryWithSource_options_error_(TEXT, None, None)
    data = library.libraryDataContents().bytes().tobytes()
    assert data[:4] == b"MTLB"
    again, error = device.newLibraryWithData_error_(
        libdispatch.dispatch_data_create(data, len(data), None, None), None
    )
    assert error is None and again.functionNames() == ("fill",)
    broken, error = device.newLibraryWithData_error_(b"MTLB and nothing else", None)
    assert broken is None and error.domain() == "MTLLibraryErrorDomain"
    file = tmp_path / "kept.metallib"
    file.write_bytes(data)
    kept, error = device.newLibraryWithFile_error_(str(file), None)
    assert error is None and kept.functionNames() == ("fill",)
    file.write_text(TEXT)
    broken, error = device.newLibraryWithFile_error_(str(file), None)
    assert broken is None and "Invalid library file" in error.localizedDescription()


def test_handlers_may_wait_and_fail_without_a_deadlock(device, capsys):
    commands, seen = _commands(device), []

    def handler(commands):
        commands.waitUntilCompleted()
        seen.append(commands.status())
        raise ValueError("in the handler")

    commands.addCompletedHandler_(handler)
    commands.addCompletedHandler_(lambda commands: seen.append("second"))
    commands.commit()
    commands.waitUntilCompleted()
    assert seen == [4, "second"] and "in the handler" in commands.error().localizedDescription()


def test_an_error_that_nobody_asks_for_is_told_in_the_end(tmp_path):
    from tests.metal.test_scripts import WRONG

    (tmp_path / "wrong.py").write_text(WRONG)
    program = "import metalloid.metal; metalloid.metal.install(); exec(open('wrong.py').read())"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=100
    )
    assert ran.returncode == 0 and "metalloid: command buffer frame:" in ran.stderr, ran.stderr


def test_objc_and_foundation(device):
    import Foundation
    import objc

    assert objc.lookUpClass("MTLCompileOptions").new().fastMathEnabled()
    with pytest.raises(objc.nosuchclass_error):
        objc.lookUpClass("NSNothing")
    names: dict[str, object] = {}
    objc.loadBundle("Metal", names, bundle_path="/System/Library/Frameworks/Metal.framework")
    assert callable(names["MTLCreateSystemDefaultDevice"])
    assert Foundation.NSURL.fileURLWithPath_("/tmp/a b").path() == "/tmp/a b"
    assert Foundation.NSData.dataWithBytes_length_(b"abcd", 2).bytes().tobytes() == b"ab"
    array = Foundation.NSMutableArray.alloc().init()
    array.addObject_(1)
    assert array == [1] and Foundation.NSString.stringWithString_("a").UTF8String() == b"a"
    error = Foundation.NSError.errorWithDomain_code_userInfo_("D", 7, {"NSLocalizedDescription": "no"})
    assert (error.domain(), error.code(), error.localizedDescription()) == ("D", 7, "no")


def test_four_threads_lose_no_handler_and_no_dispatch(device, pipeline):
    import struct
    import threading

    library, _ = device.newLibraryWithSource_options_error_(
        "kernel void more(device int* x [[buffer(0)]], constant int& by [[buffer(1)]],"
        " uint i [[thread_position_in_grid]]) { x[i] += by; }",
        None,
        None,
    )
    more, _ = device.newComputePipelineStateWithFunction_error_(library.newFunctionWithName_("more"), None)
    queue, heard, failed = device.newCommandQueue(), [], []

    def work(number):
        buffer = device.newBufferWithLength_options_(64, 0)
        for n in range(100):
            commands = queue.commandBuffer()
            encoder = commands.computeCommandEncoder()
            encoder.setComputePipelineState_(more)
            encoder.setBuffer_offset_atIndex_(buffer, 0, 0)
            encoder.setBytes_length_atIndex_(struct.pack("i", number), 4, 1)
            encoder.dispatchThreads_threadsPerThreadgroup_((16, 1, 1), (16, 1, 1))
            encoder.endEncoding()
            if n % 2:
                commands.addCompletedHandler_(lambda commands: heard.append(commands.status()))
            commands.commit()
            if n % 10 == 9:
                commands.waitUntilCompleted()
        found = struct.unpack("16i", buffer.contents().as_buffer(64))
        if found != (100 * number,) * 16:
            failed.append((number, found))

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed and heard == [4] * 200


def test_assigning_to_a_property_sets_it(Metal):
    options = Metal.MTLCompileOptions.alloc().init()
    options.languageVersion = Metal.MTLLanguageVersion2_4
    options.fastMathEnabled = False
    assert options.languageVersion() == 0x20004 and options.mathMode() == Metal.MTLMathModeSafe
    assert options._settings() == {"math": "safe", "defines": {}, "language_version": "2.4"}


def test_counters_other_than_timestamps_are_refused(Metal, device):
    samples, error = device.newCounterSampleBufferWithDescriptor_error_(
        Metal.MTLCounterSampleBufferDescriptor.new(), None
    )
    assert samples is None and error.domain() == "MTLCounterErrorDomain"
    assert device.supportsCounterSampling_(Metal.MTLCounterSamplingPointAtStageBoundary)
    assert not device.supportsCounterSampling_(Metal.MTLCounterSamplingPointAtDrawBoundary)
