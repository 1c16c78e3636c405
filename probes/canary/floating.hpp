// Floating point as IEEE 754 defines it, and conversions where C++ defines them. Each step goes
// through a volatile, so that the answers are the same whether or not the lane contracts a*b+c. The
// expected words are from Python's float and numpy's float32.
#pragma once

#include <cfenv>
#include <cfloat>
#include <cmath>
#include <limits>

#include "check.hpp"

namespace canary {

inline std::uint64_t flag(bool value) { return value ? 1 : 0; }

inline void floating() {
  const double one = opaque(1.0);
  const double three = opaque(3.0);
  const float onef = opaque(1.0F);
  check("float.divide", 0x3FD5555555555555U, bits(one / three));
  check("float.divide-single", 0x3EAAAAABU, bits(onef / opaque(3.0F)));
  check("float.square-root", 0x3FF6A09E667F3BCDU, bits(std::sqrt(opaque(2.0))));
  check("float.square-root-single", 0x3FB504F3U, bits(std::sqrt(opaque(2.0F))));
  check("float.round-half-even",
        folded({bits(1.0), bits(1.0 + 2 * DBL_EPSILON), bits(1.0 + DBL_EPSILON)}),
        folded({bits(opaque(one + opaque(DBL_EPSILON / 2))),
                bits(opaque(opaque(1.0 + DBL_EPSILON) + opaque(DBL_EPSILON / 2))),
                bits(opaque(one + opaque(DBL_EPSILON * 0.5000001)))}));

  double sum = 0;
  float sumf = 0;
  for (int i = 1; i <= 1000; ++i) {
    sum = opaque(sum + opaque(1.0 / opaque(i)));
    sumf = opaque(sumf + opaque(onef / static_cast<float>(opaque(i))));
  }
  check("float.thousand-additions", 0x401DF11F45F4E618U, bits(sum));
  check("float.thousand-additions-single", 0x40EF890AU, bits(sumf));

  // 2^-66 remains of (1 + 2^-33)^2 only under one rounding; two roundings leave nothing.
  const double factor = opaque(1.0 + std::ldexp(1.0, -33));
  const double addend = opaque(-(1.0 + std::ldexp(1.0, -32)));
  check("float.fused", bits(std::ldexp(1.0, -66)), bits(std::fma(factor, factor, addend)));
  check("float.not-fused", 0, bits(opaque(factor * factor) + addend));
  const float factorf = opaque(1.0F + std::ldexp(1.0F, -23));
  const float addendf = opaque(-(1.0F + std::ldexp(1.0F, -22)));
  check("float.fused-single", bits(std::ldexp(1.0F, -46)),
        bits(std::fma(factorf, factorf, addendf)));
  check("float.not-fused-single", 0, bits(opaque(factorf * factorf) + addendf));

  const double least = std::numeric_limits<double>::denorm_min();
  check("float.subnormal", folded({1ULL << 51, 0, 2, 1, 3}),
        folded({bits(opaque(DBL_MIN) / 2), bits(opaque(least) * opaque(0.5)),
                bits(opaque(least) * opaque(1.5)), bits(opaque(least) * opaque(0.75)),
                bits(opaque(least) + opaque(2 * least))}));
  const float leastf = std::numeric_limits<float>::denorm_min();
  check("float.subnormal-single", folded({1U << 22, 0, 2, 1}),
        folded({bits(opaque(FLT_MIN) / 2), bits(opaque(leastf) * opaque(0.5F)),
                bits(opaque(leastf) * opaque(1.5F)), bits(opaque(leastf) * opaque(0.75F))}));

  const double infinity = opaque(std::numeric_limits<double>::infinity());
  const double nan = opaque(std::numeric_limits<double>::quiet_NaN());
  const double zero = opaque(0.0);
  check("float.unordered", 0b1000000,
        flag(nan < one) | flag(nan > one) << 1 | flag(nan <= nan) << 2 | flag(nan >= nan) << 3 |
            flag(nan == nan) << 4 | flag(one < nan) << 5 | flag(nan != nan) << 6);
  check("float.infinity", 0b11111,
        flag(one / zero == infinity) | flag(std::isnan(infinity - infinity)) << 1 |
            flag(std::isnan(zero / zero)) << 2 | flag(infinity > opaque(DBL_MAX)) << 3 |
            flag(opaque(DBL_MAX) * 2 == infinity) << 4);
  check("float.negative-zero", folded({1ULL << 63, 1ULL << 63, 0, 1}),
        folded({bits(zero * opaque(-1.0)), bits(-zero), bits(zero + opaque(-0.0)),
                flag(zero == opaque(-0.0))}));

  check(
      "float.from-unsigned",
      folded({0x43F0000000000000U, 0x43E0000000000001U, 0x4340000000000000U, 0x4340000000000002U}),
      folded({bits(static_cast<double>(opaque<std::uint64_t>(UINT64_MAX))),
              bits(static_cast<double>(opaque<std::uint64_t>((1ULL << 63) + 1025))),
              bits(static_cast<double>(opaque<std::uint64_t>((1ULL << 53) + 1))),
              bits(static_cast<double>(opaque<std::uint64_t>((1ULL << 53) + 3)))}));
  check("float.from-integer-single", folded({0x4B800000U, 0x4B800002U, 0x53800001U, 0xDF000000U}),
        folded({bits(static_cast<float>(opaque<std::int32_t>((1 << 24) + 1))),
                bits(static_cast<float>(opaque<std::int32_t>((1 << 24) + 3))),
                bits(static_cast<float>(opaque<std::int64_t>((1LL << 40) + (1 << 16) + 1))),
                bits(static_cast<float>(opaque<std::int64_t>(INT64_MIN)))}));
  const auto truncated = [](double value) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(opaque(value)));
  };
  check("float.to-integer", folded({UINT64_MAX, 1, 0, 1ULL << 63, 0xFFFFFFFFFFFFF800U, 1ULL << 63}),
        folded({truncated(-1.99), truncated(1.99), truncated(-0.99),
                truncated(-9223372036854775808.0),
                static_cast<std::uint64_t>(opaque(18446744073709549568.0)),
                static_cast<std::uint64_t>(opaque(9223372036854775808.0))}));
  check("float.to-single", folded({0x3F800000U, 0x3F800001U, 0x3F800002U, 0, 1}),
        folded({bits(static_cast<float>(opaque(1 + std::ldexp(1.0, -24)))),
                bits(static_cast<float>(opaque(1 + std::ldexp(1.0, -24) + std::ldexp(1.0, -52)))),
                bits(static_cast<float>(opaque(1 + 3 * std::ldexp(1.0, -24)))),
                bits(static_cast<float>(opaque(std::ldexp(1.0, -150)))),
                bits(static_cast<float>(opaque(std::ldexp(1.5, -150))))}));
  check("float.integral",
        folded({bits(2.0), bits(2.0), bits(-2.0), bits(3.0), bits(-3.0), bits(-2.0)}),
        folded({bits(std::nearbyint(opaque(1.5))), bits(std::nearbyint(opaque(2.5))),
                bits(std::nearbyint(opaque(-2.5))), bits(std::round(opaque(2.5))),
                bits(std::floor(opaque(-2.5))), bits(std::ceil(opaque(-2.5)))}));

  // The four rounding directions of 1/3 and -1/3.
  Fold rounded;
  for (const int direction : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(direction);
    const volatile double dividend = 1.0;
    const volatile double divisor = 3.0;
    const volatile double up = dividend / divisor;
    const volatile double down = -dividend / divisor;
    std::fesetround(FE_TONEAREST);
    rounded(bits(up));
    rounded(bits(down));
  }
  constexpr std::uint64_t kThird = 0x3FD5555555555555U;
  constexpr std::uint64_t kSign = 1ULL << 63;
  check("float.rounding-directions",
        folded({kThird, kThird | kSign, kThird + 1, kThird | kSign, kThird, (kThird + 1) | kSign,
                kThird, kThird | kSign}),
        rounded.value());

  using Long = long double;
  const Long epsilon = std::numeric_limits<Long>::epsilon();
  const Long onel = opaque<Long>(1);
  check("float.long-double", 0b111,
        flag(opaque<Long>(onel + opaque(epsilon)) > onel) |
            flag(opaque<Long>(onel + opaque<Long>(epsilon / 2)) == onel) << 1 |
            flag(opaque<Long>(onel / opaque<Long>(3)) != static_cast<Long>(one / three)) << 2);
}

}  // namespace canary
