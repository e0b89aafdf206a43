"""An instruction that was inlined from a header is blamed on the user's line."""

from pathlib import Path

import metalloid
from metalloid import ir
from metalloid.ir.debug import Location, location, locations

INCLUDE = Path(metalloid.__file__).parent / "frontend" / "include"
TEXT = f"""
define void @f() {{
entry:
  %a = add i32 1, 1, !dbg !5
  %b = add i32 1, 1, !dbg !7
  %c = add i32 1, 1
  ret void
}}
!1 = !DIFile(filename: "k.metal", directory: "")
!2 = !DIFile(filename: "metal_math", directory: "{INCLUDE}")
!3 = distinct !DISubprogram(name: "kernel_name", scope: !1, file: !1, line: 3)
!4 = distinct !DISubprogram(name: "clamp", scope: !2, file: !2, line: 90)
!5 = !DILocation(line: 91, column: 2, scope: !6, inlinedAt: !7)
!6 = distinct !DILexicalBlock(scope: !4, file: !2, line: 91)
!7 = distinct !DILocation(line: 5, column: 9, scope: !8)
!8 = !DILexicalBlockFile(scope: !3, file: !1, discriminator: 0)
"""


def test_the_innermost_line_of_the_users() -> None:
    module = ir.read(TEXT)
    inlined, plain, none = list(module.functions[0].instructions())[:3]
    assert location(module, inlined) == Location("k.metal", 5, 9, "kernel_name")
    assert location(module, plain) == Location("k.metal", 5, 9, "kernel_name")
    assert location(module, none) is None
    assert [place.line for place in locations(module, inlined)] == [91, 5]
