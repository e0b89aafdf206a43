// Every swizzle of two to four components, for sources that use an unordered one.
#pragma once
#undef __MT_SWIZZLES_2
#undef __MT_SWIZZLES_3
#undef __MT_SWIZZLES_4

// EACHn_k(F, chosen...) calls F once per component of a vector of n with one more pair of names;
// the suffix k only keeps the preprocessor from seeing a macro inside itself.
#define __MT_EACH2_A(F, ...) F(__VA_ARGS__, x, r) F(__VA_ARGS__, y, g)
#define __MT_EACH3_A(F, ...) F(__VA_ARGS__, x, r) F(__VA_ARGS__, y, g) F(__VA_ARGS__, z, b)
#define __MT_EACH4_A(F, ...) F(__VA_ARGS__, x, r) F(__VA_ARGS__, y, g) F(__VA_ARGS__, z, b) F(__VA_ARGS__, w, a)
#define __MT_EACH2_B(F, ...) F(__VA_ARGS__, x, r) F(__VA_ARGS__, y, g)
#define __MT_EACH3_B(F, ...) F(__VA_ARGS__, x, r) F(__VA_ARGS__, y, g) F(__VA_ARGS__, z, b)
#define __MT_EACH4_B(F, ...) F(__VA_ARGS__, x, r) F(__VA_ARGS__, y, g) F(__VA_ARGS__, z, b) F(__VA_ARGS__, w, a)
#define __MT_EACH2_C(F, ...) F(__VA_ARGS__, x, r) F(__VA_ARGS__, y, g)
#define __MT_EACH3_C(F, ...) F(__VA_ARGS__, x, r) F(__VA_ARGS__, y, g) F(__VA_ARGS__, z, b)
#define __MT_EACH4_C(F, ...) F(__VA_ARGS__, x, r) F(__VA_ARGS__, y, g) F(__VA_ARGS__, z, b) F(__VA_ARGS__, w, a)

#define __MT_PAIR2(...) __MT_EACH2_A(__MT_SWIZZLE2, __VA_ARGS__)
#define __MT_TRIPLE2(...) __MT_EACH2_A(__MT_TRIPLE2B, __VA_ARGS__)
#define __MT_TRIPLE2B(...) __MT_EACH2_B(__MT_SWIZZLE3, __VA_ARGS__)
#define __MT_QUAD2(...) __MT_EACH2_A(__MT_QUAD2B, __VA_ARGS__)
#define __MT_QUAD2B(...) __MT_EACH2_B(__MT_QUAD2C, __VA_ARGS__)
#define __MT_QUAD2C(...) __MT_EACH2_C(__MT_SWIZZLE4, __VA_ARGS__)
#define __MT_SWIZZLES_2 \
  __MT_COLOUR(x, r) __MT_COLOUR(y, g) \
  __MT_PAIR2(x, r) __MT_PAIR2(y, g) \
  __MT_TRIPLE2(x, r) __MT_TRIPLE2(y, g) \
  __MT_QUAD2(x, r) __MT_QUAD2(y, g)

#define __MT_PAIR3(...) __MT_EACH3_A(__MT_SWIZZLE2, __VA_ARGS__)
#define __MT_TRIPLE3(...) __MT_EACH3_A(__MT_TRIPLE3B, __VA_ARGS__)
#define __MT_TRIPLE3B(...) __MT_EACH3_B(__MT_SWIZZLE3, __VA_ARGS__)
#define __MT_QUAD3(...) __MT_EACH3_A(__MT_QUAD3B, __VA_ARGS__)
#define __MT_QUAD3B(...) __MT_EACH3_B(__MT_QUAD3C, __VA_ARGS__)
#define __MT_QUAD3C(...) __MT_EACH3_C(__MT_SWIZZLE4, __VA_ARGS__)
#define __MT_SWIZZLES_3 \
  __MT_COLOUR(x, r) __MT_COLOUR(y, g) __MT_COLOUR(z, b) \
  __MT_PAIR3(x, r) __MT_PAIR3(y, g) __MT_PAIR3(z, b) \
  __MT_TRIPLE3(x, r) __MT_TRIPLE3(y, g) __MT_TRIPLE3(z, b) \
  __MT_QUAD3(x, r) __MT_QUAD3(y, g) __MT_QUAD3(z, b)

#define __MT_PAIR4(...) __MT_EACH4_A(__MT_SWIZZLE2, __VA_ARGS__)
#define __MT_TRIPLE4(...) __MT_EACH4_A(__MT_TRIPLE4B, __VA_ARGS__)
#define __MT_TRIPLE4B(...) __MT_EACH4_B(__MT_SWIZZLE3, __VA_ARGS__)
#define __MT_QUAD4(...) __MT_EACH4_A(__MT_QUAD4B, __VA_ARGS__)
#define __MT_QUAD4B(...) __MT_EACH4_B(__MT_QUAD4C, __VA_ARGS__)
#define __MT_QUAD4C(...) __MT_EACH4_C(__MT_SWIZZLE4, __VA_ARGS__)
#define __MT_SWIZZLES_4 \
  __MT_COLOUR(x, r) __MT_COLOUR(y, g) __MT_COLOUR(z, b) __MT_COLOUR(w, a) \
  __MT_PAIR4(x, r) __MT_PAIR4(y, g) __MT_PAIR4(z, b) __MT_PAIR4(w, a) \
  __MT_TRIPLE4(x, r) __MT_TRIPLE4(y, g) __MT_TRIPLE4(z, b) __MT_TRIPLE4(w, a) \
  __MT_QUAD4(x, r) __MT_QUAD4(y, g) __MT_QUAD4(z, b) __MT_QUAD4(w, a)
