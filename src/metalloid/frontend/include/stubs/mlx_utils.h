// What MLX puts in scope of a custom kernel: type names, limits, index arithmetic, complex numbers.
// The names are MLX's, so that unmodified kernels find them.
#pragma once

#include <metal_stdlib>

using namespace metal;

typedef half float16_t;
typedef bfloat bfloat16_t;

#define MLX_MTL_PRAGMA_UNROLL _Pragma("clang loop unroll(full)")

// ---- complex numbers ----

struct complex64_t {
  using value_type = float;
  float real;
  float imag;

  constexpr complex64_t() : real(0.0f), imag(0.0f) {}
  constexpr complex64_t(float re, float im) : real(re), imag(im) {}
  template <typename U, typename = enable_if_t<is_convertible_v<U, float>>>
  constexpr complex64_t(U re) : real(static_cast<float>(re)), imag(0.0f) {}

  template <typename U, typename = enable_if_t<is_convertible_v<float, U>>>
  explicit constexpr operator U() const {
    return static_cast<U>(real);
  }
};

constexpr complex64_t operator+(complex64_t z) {
  return z;
}
constexpr complex64_t operator-(complex64_t z) {
  return {-z.real, -z.imag};
}
constexpr complex64_t operator+(complex64_t z, complex64_t w) {
  return {z.real + w.real, z.imag + w.imag};
}
constexpr complex64_t operator-(complex64_t z, complex64_t w) {
  return {z.real - w.real, z.imag - w.imag};
}
constexpr complex64_t operator*(complex64_t z, complex64_t w) {
  return {z.real * w.real - z.imag * w.imag, z.real * w.imag + z.imag * w.real};
}
constexpr complex64_t operator/(complex64_t z, complex64_t w) {
  float norm = w.real * w.real + w.imag * w.imag;
  return {(z.real * w.real + z.imag * w.imag) / norm, (z.imag * w.real - z.real * w.imag) / norm};
}
constexpr bool operator==(complex64_t z, complex64_t w) {
  return z.real == w.real && z.imag == w.imag;
}
constexpr bool operator!=(complex64_t z, complex64_t w) {
  return !(z == w);
}
// Ordered by the real part first, as numpy orders them.
constexpr bool operator<(complex64_t z, complex64_t w) {
  return z.real < w.real || (z.real == w.real && z.imag < w.imag);
}
constexpr bool operator>(complex64_t z, complex64_t w) {
  return w < z;
}
constexpr bool operator<=(complex64_t z, complex64_t w) {
  return z < w || z == w;
}
constexpr bool operator>=(complex64_t z, complex64_t w) {
  return w <= z;
}

// ---- limits ----

// `min` and `max` are the ends of the order (infinities included); `finite_` the ends of the numbers.
template <typename T>
struct Limits {
  static constexpr constant T max = numeric_limits<T>::max();
  static constexpr constant T min = numeric_limits<T>::min();
  static constexpr constant T finite_max = numeric_limits<T>::max();
  static constexpr constant T finite_min = numeric_limits<T>::min();
};

#define METALLOID_REAL_LIMITS(T)                                            \
  template <>                                                               \
  struct Limits<T> {                                                        \
    static constexpr constant T max = numeric_limits<T>::infinity();        \
    static constexpr constant T min = -numeric_limits<T>::infinity();       \
    static constexpr constant T finite_max = numeric_limits<T>::max();      \
    static constexpr constant T finite_min = -numeric_limits<T>::max();     \
  };
METALLOID_REAL_LIMITS(float)
METALLOID_REAL_LIMITS(half)
METALLOID_REAL_LIMITS(bfloat)
#undef METALLOID_REAL_LIMITS

template <>
struct Limits<bool> {
  static constexpr constant bool max = true;
  static constexpr constant bool min = false;
};

template <typename T>
struct WorkPerThread {
  static_assert(sizeof(T) <= 8, "a thread works on 8 bytes at a time");
  static constexpr int constant n = 8 / sizeof(T);
};

// ---- from an element's number or place to its offset in strided memory ----

template <typename I = int64_t>
METAL_FUNC I elem_to_loc(I elem, constant const int* shape, constant const int64_t* strides, int ndim) {
  I offset = 0;
  for (int axis = ndim; axis-- > 0;) {
    I extent = shape[axis];
    offset += (elem % extent) * I(strides[axis]);
    elem = elem / extent;
  }
  return offset;
}

// The two fastest axes are the grid's x and y; z counts through all the others.
template <typename I = int64_t>
METAL_FUNC I elem_to_loc(uint3 elem, constant const int* shape, constant const int64_t* strides, int ndim) {
  I offset = I(elem.x) * I(strides[ndim - 1]) + I(elem.y) * I(strides[ndim - 2]);
  uint rest = elem.z;
  for (int axis = ndim - 2; axis-- > 0;) {
    offset += I(rest % uint(shape[axis])) * I(strides[axis]);
    rest /= uint(shape[axis]);
  }
  return offset;
}

template <typename I = int64_t>
METAL_FUNC I elem_to_loc_1(uint elem, constant const int64_t& stride) {
  return I(elem) * I(stride);
}

template <typename I = int64_t>
METAL_FUNC I elem_to_loc_2(uint2 elem, constant const int64_t* strides) {
  return I(elem.y) * I(strides[0]) + I(elem.x) * I(strides[1]);
}

template <typename I = int64_t>
METAL_FUNC I elem_to_loc_3(uint3 elem, constant const int64_t* strides) {
  return I(elem.z) * I(strides[0]) + I(elem.y) * I(strides[1]) + I(elem.x) * I(strides[2]);
}

template <typename I = int64_t>
METAL_FUNC vec<I, 2> elem_to_loc_2_nd(
    uint3 elem,
    constant const int* shape,
    constant const int64_t* a_strides,
    constant const int64_t* b_strides,
    int ndim) {
  return vec<I, 2>(elem_to_loc<I>(elem, shape, a_strides, ndim), elem_to_loc<I>(elem, shape, b_strides, ndim));
}

template <typename I = int64_t>
METAL_FUNC vec<I, 3> elem_to_loc_3_nd(
    uint3 elem,
    constant const int* shape,
    constant const int64_t* a_strides,
    constant const int64_t* b_strides,
    constant const int64_t* c_strides,
    int ndim) {
  return vec<I, 3>(
      elem_to_loc<I>(elem, shape, a_strides, ndim),
      elem_to_loc<I>(elem, shape, b_strides, ndim),
      elem_to_loc<I>(elem, shape, c_strides, ndim));
}

// Walks a strided array in order, `next` by `next`; DIM and General are hints that this walk does not need.
template <int DIM, typename OffsetT = size_t, bool General = true>
struct LoopedElemToLoc {
  int dim;
  OffsetT index;
  OffsetT offset;

  LoopedElemToLoc(int ndim) : dim(ndim), index(0), offset(0) {}

  void next(const constant int* shape, const constant int64_t* strides) {
    next(1, shape, strides);
  }

  void next(int n, const constant int* shape, const constant int64_t* strides) {
    index += n;
    offset = dim == 1 ? index * OffsetT(strides[0]) : elem_to_loc<OffsetT>(index, shape, strides, dim);
  }

  OffsetT location() const {
    return offset;
  }
};

// ---- arithmetic ----

template <typename T, typename U>
METAL_FUNC T ceildiv(T n, U d) {
  return (n + d - 1) / d;
}

// log(1 + x) without losing a small x: the rounding error of 1 + x is divided out again.
METAL_FUNC float log1p(float x) {
  float sum = 1.0f + x;
  if (isinf(sum)) {
    return sum;
  }
  float kept = sum - 1.0f;
  return kept == 0.0f ? x : log(sum) * (x / kept);
}

METAL_FUNC half log1p(half x) {
  return static_cast<half>(log1p(static_cast<float>(x)));
}

METAL_FUNC bfloat log1p(bfloat x) {
  return static_cast<bfloat>(log1p(static_cast<float>(x)));
}

// The larger side is taken out, so that its square cannot overflow.
METAL_FUNC float hypot(float x, float y) {
  float longer = fmax(fabs(x), fabs(y));
  float shorter = fmin(fabs(x), fabs(y));
  if (longer == 0.0f || isinf(longer)) {
    return longer;
  }
  float ratio = shorter / longer;
  return longer * precise::sqrt(1.0f + ratio * ratio);
}

METAL_FUNC complex64_t log1p(complex64_t z) {
  return {log(hypot(1.0f + z.real, z.imag)), atan2(z.imag, 1.0f + z.real)};
}

template <bool condition, typename T, typename U>
struct ConditionalType {
  using type = conditional_t<condition, T, U>;
};

// A value is false as a bool only where all its bits but the sign are zero.
template <typename U, typename T>
METAL_FUNC U cast_to(T value) {
  return static_cast<U>(value);
}

template <>
METAL_FUNC bool cast_to<bool, complex64_t>(complex64_t value) {
  return value.real != 0.0f || value.imag != 0.0f;
}

// ---- SIMD-group functions for the types Metal's own lack ----

METAL_FUNC complex64_t simd_shuffle(complex64_t value, uint16_t lane) {
  return {simd_shuffle(value.real, lane), simd_shuffle(value.imag, lane)};
}

METAL_FUNC complex64_t simd_shuffle_up(complex64_t value, uint16_t delta) {
  return {simd_shuffle_up(value.real, delta), simd_shuffle_up(value.imag, delta)};
}

METAL_FUNC complex64_t simd_shuffle_down(complex64_t value, uint16_t delta) {
  return {simd_shuffle_down(value.real, delta), simd_shuffle_down(value.imag, delta)};
}

METAL_FUNC complex64_t simd_shuffle_and_fill_up(complex64_t value, complex64_t fill, uint16_t delta) {
  return {simd_shuffle_and_fill_up(value.real, fill.real, delta), simd_shuffle_and_fill_up(value.imag, fill.imag, delta)};
}

// 64-bit integers and bools travel as the 32-bit words they are made of.
#define METALLOID_SHUFFLES(T, WORD)                                                            \
  METAL_FUNC T simd_shuffle(T value, uint16_t lane) {                                          \
    return METALLOID_FROM(T, metal::simd_shuffle(METALLOID_TO(WORD, value), lane));            \
  }                                                                                            \
  METAL_FUNC T simd_shuffle_up(T value, uint16_t delta) {                                      \
    return METALLOID_FROM(T, metal::simd_shuffle_up(METALLOID_TO(WORD, value), delta));        \
  }                                                                                            \
  METAL_FUNC T simd_shuffle_down(T value, uint16_t delta) {                                    \
    return METALLOID_FROM(T, metal::simd_shuffle_down(METALLOID_TO(WORD, value), delta));      \
  }                                                                                            \
  METAL_FUNC T simd_shuffle_and_fill_up(T value, T fill, uint16_t delta) {                     \
    return METALLOID_FROM(                                                                     \
        T, metal::simd_shuffle_and_fill_up(METALLOID_TO(WORD, value), METALLOID_TO(WORD, fill), delta)); \
  }
#define METALLOID_FROM(T, v) as_type<T>(v)
#define METALLOID_TO(WORD, v) as_type<WORD>(v)
METALLOID_SHUFFLES(uint64_t, uint2)
METALLOID_SHUFFLES(int64_t, uint2)
#undef METALLOID_FROM
#undef METALLOID_TO
#define METALLOID_FROM(T, v) static_cast<T>(v)
#define METALLOID_TO(WORD, v) static_cast<WORD>(v)
METALLOID_SHUFFLES(bool, uint32_t)
#undef METALLOID_FROM
#undef METALLOID_TO
#undef METALLOID_SHUFFLES
