// Integer arithmetic. The expected words were computed with Python's unbounded integers.
#pragma once

#include "check.hpp"

namespace canary {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

inline void integer() {
  const auto a = opaque<std::uint64_t>(0xFEDCBA9876543210U);
  const auto b = opaque<std::uint64_t>(0x0F1E2D3C4B5A6978U);
  const auto c = opaque<std::uint64_t>(0x0000000123456789U);
  const auto sa = static_cast<std::int64_t>(a);
  const auto sb = static_cast<std::int64_t>(b);
  const auto word = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };

  check("integer.multiply-low", 0x9AACD00449A00780U, a * b);
  check("integer.multiply-high-unsigned", 0x0F0CF9D5A05A0299U,
        static_cast<std::uint64_t>((Wide{a} * b) >> 64));
  check("integer.multiply-high-signed", 0xFFEECC9954FF9921U,
        static_cast<std::uint64_t>((SignedWide{sa} * sb) >> 64));
  check("integer.multiply-add", 0x9AACD0056CE56F09U, a * b + c);
  check("integer.multiply-subtract", 0x65532FFCD9A56009U, c - a * b);

  constexpr std::int64_t kMin = INT64_MIN;
  constexpr std::int64_t kMax = INT64_MAX;
  constexpr std::int64_t kSigned[][2] = {{-7, 2},   {7, -2},    {-7, -2},   {kMin, 2},
                                         {kMin, 3}, {kMax, -1}, {kMax, 10}, {kMin, kMax}};
  Fold quotients;
  Fold remainders;
  for (const auto& pair : kSigned) {
    const auto x = opaque(pair[0]);
    const auto y = opaque(pair[1]);
    quotients(word(x / y));
    remainders(word(x % y));
  }
  check("integer.divide-signed", 0x748A318CAB7594B4U, quotients.value());
  check("integer.remainder-signed", 0x65D29C8E9FB2456AU, remainders.value());

  constexpr std::uint64_t kAll = UINT64_MAX;
  const std::uint64_t unsigned_pairs[][2] = {
      {kAll, 3}, {kAll, kAll}, {kAll - 1, kAll}, {1ULL << 63, 10}, {a, b}, {a, 1}, {0, a}};
  Fold unsigned_quotients;
  Fold unsigned_remainders;
  for (const auto& pair : unsigned_pairs) {
    const auto x = opaque(pair[0]);
    const auto y = opaque(pair[1]);
    unsigned_quotients(x / y);
    unsigned_remainders(x % y);
  }
  check("integer.divide-unsigned", 0x7130BB2423AF6C45U, unsigned_quotients.value());
  check("integer.remainder-unsigned", 0x54213D4A5F903DA1U, unsigned_remainders.value());

  Fold left;
  Fold right;
  Fold arithmetic;
  Fold rotated;
  for (unsigned n = 0; n < 64; ++n) {
    const unsigned by = opaque(n);
    left(a << by);
    right(a >> by);
    arithmetic(word(sa >> by));
    rotated(a << by | a >> (-by & 63U));
  }
  check("integer.shift-left", 0x591A0D7FF17238D5U, left.value());
  check("integer.shift-right", 0x8CCAF0BD9B2BB06DU, right.value());
  check("integer.shift-right-arithmetic", 0xCDDC0854368A4A5FU, arithmetic.value());
  check("integer.rotate", 0xFCCF6B784688FB1DU, rotated.value());

  // 32-bit results in 64-bit registers: the upper halves must be clear, or the sign.
  const auto narrow = opaque<std::uint32_t>(0x89ABCDEFU);
  const auto signed_narrow = static_cast<std::int32_t>(narrow);
  Fold left32;
  Fold arithmetic32;
  Fold rotated32;
  for (unsigned n = 0; n < 32; ++n) {
    const unsigned by = opaque(n);
    left32(narrow << by);
    arithmetic32(word(signed_narrow >> by));
    rotated32(narrow << by | narrow >> (-by & 31U));
  }
  check("integer.shift-left-32", 0x1E9252DF185C8794U, left32.value());
  check("integer.shift-right-arithmetic-32", 0x3E41B776ABB486E1U, arithmetic32.value());
  check("integer.rotate-32", 0x80A737B3535FCB59U, rotated32.value());
  check("integer.extend", 0x3E0B5A0B8B4060ABU,
        folded({word(static_cast<std::int8_t>(opaque(0x180))),
                word(static_cast<std::int8_t>(opaque(0x17F))),
                word(static_cast<std::int16_t>(opaque(0x18000))),
                word(static_cast<std::int32_t>(opaque(0x180000000LL))),
                static_cast<std::uint8_t>(opaque(0xFFF)), static_cast<std::uint16_t>(opaque(-1)),
                static_cast<std::uint32_t>(opaque(-1LL))}));

  Fold leading;
  Fold trailing;
  Fold population;
  const auto counts = [&](std::uint64_t value) {
    const auto hidden = opaque(value);
    leading(static_cast<std::uint64_t>(__builtin_clzll(hidden)));
    trailing(static_cast<std::uint64_t>(__builtin_ctzll(hidden)));
    population(static_cast<std::uint64_t>(__builtin_popcountll(hidden)));
  };
  for (unsigned n = 0; n < 64; ++n) counts(1ULL << n);
  for (unsigned n = 0; n < 64; ++n) counts(-(1ULL << n));
  check("integer.leading-zeros", 0x5794543FF288E5A5U, leading.value());
  check("integer.trailing-zeros", 0x682675C2941C5AA5U, trailing.value());
  check("integer.population", 0xF0434336F6C7B465U, population.value());
  Fold leading32;
  for (unsigned n = 0; n < 32; ++n) {
    leading32(static_cast<std::uint64_t>(__builtin_clz(opaque(1U << n))));
  }
  check("integer.leading-zeros-32", 0x1996ADFC65CA0FE5U, leading32.value());
  check("integer.byte-swap-64", 0x1032547698BADCFEU, __builtin_bswap64(a));
  check("integer.byte-swap-32", 0x00000000EFCDAB89U, __builtin_bswap32(narrow));
  check("integer.byte-swap-16", 0x000000000000EFCDU,
        __builtin_bswap16(opaque<std::uint16_t>(0xCDEF)));

  std::int64_t signed_out = 0;
  std::uint64_t unsigned_out = 0;
  std::int32_t out32 = 0;
  const std::uint64_t overflow[] = {
      __builtin_add_overflow(opaque(kMax), opaque<std::int64_t>(1), &signed_out),
      word(signed_out),
      __builtin_sub_overflow(opaque(kMin), opaque<std::int64_t>(1), &signed_out),
      word(signed_out),
      __builtin_sub_overflow(opaque<std::uint64_t>(0), opaque<std::uint64_t>(1), &unsigned_out),
      unsigned_out,
      __builtin_mul_overflow(opaque(kMin), opaque<std::int64_t>(-1), &signed_out),
      __builtin_mul_overflow(opaque<std::int64_t>(1LL << 31), opaque<std::int64_t>(1LL << 31),
                             &signed_out),
      __builtin_mul_overflow(opaque(1ULL << 32), opaque(1ULL << 32), &unsigned_out),
      __builtin_mul_overflow(opaque(65536), opaque(32768), &out32),
      word(out32)};
  Fold overflowed;
  for (const std::uint64_t one : overflow) overflowed(one);
  check("integer.overflow",
        folded({1, 1ULL << 63, 1, (1ULL << 63) - 1, 1, kAll, 1, 0, 1, 1, word(INT32_MIN)}),
        overflowed.value());

  const Wide wide = Wide{a} << 64 | b;
  const Wide divisor =
      Wide{opaque<std::uint64_t>(0x123U)} << 64 | opaque<std::uint64_t>(0x456789ABCDEF0123U);
  const Wide quotient = wide / divisor;
  const Wide remainder = wide % divisor;
  const Wide square = wide * wide;
  const auto high = [](Wide value) { return static_cast<std::uint64_t>(value >> 64); };
  const auto low = [](Wide value) { return static_cast<std::uint64_t>(value); };
  check("integer.divide-128", 0xA070596EDA2ABDFAU,
        folded({high(quotient), low(quotient), high(remainder), low(remainder)}));
  check("integer.multiply-128", 0x945268E60F35A918U, folded({high(square), low(square)}));

  // The carry and the borrow must run through all four words.
  const std::uint64_t x[] = {opaque(kAll), opaque(kAll), opaque(kAll - 5),
                             opaque<std::uint64_t>(7)};
  const std::uint64_t y[] = {opaque<std::uint64_t>(1), opaque<std::uint64_t>(0),
                             opaque<std::uint64_t>(5), opaque<std::uint64_t>(9)};
  Fold sum;
  Fold difference;
  std::uint64_t carry = 0;
  std::uint64_t borrow = 0;
  for (int i = 0; i < 4; ++i) {
    const Wide added = Wide{x[i]} + y[i] + carry;
    const Wide subtracted = Wide{y[i]} - x[i] - borrow;
    carry = high(added);
    borrow = high(subtracted) & 1U;
    sum(low(added));
    difference(low(subtracted));
  }
  check("integer.carry-chain", 0x4D25657F9DCDF712U, sum.value());
  check("integer.borrow-chain", 0x8CF8D1904A1CABCAU, difference.value());
}

}  // namespace canary
