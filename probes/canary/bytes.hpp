// Loops over bytes as a compiler vectorises them, and as libc does, at block edges and at page
// edges.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include "check.hpp"

namespace canary {

using Byte = std::uint8_t;

struct Sums {
  std::uint64_t high = 0;
  std::uint64_t total = 0;
  Byte greatest = 0;
  Byte parity = 0;

  std::uint64_t value() const { return folded({high, total, greatest, parity}); }
};

// Written for a vectoriser: no branch, restrict-like separation, every result reduced at the end.
inline std::uint64_t sums_vectorised(const Byte* data, std::size_t size) {
  Sums sums;
  for (std::size_t i = 0; i < size; ++i) {
    sums.high += data[i] >= 0x80 ? 1U : 0U;
    sums.total += data[i];
    sums.greatest = data[i] > sums.greatest ? data[i] : sums.greatest;
    sums.parity = static_cast<Byte>(sums.parity ^ data[i]);
  }
  return sums.value();
}

inline std::uint64_t sums_one_by_one(const volatile Byte* data, std::size_t size) {
  Sums sums;
  for (std::size_t i = 0; i < size; ++i) {
    const Byte one = data[i];
    if (one >= 0x80) ++sums.high;
    sums.total += one;
    if (one > sums.greatest) sums.greatest = one;
    sums.parity = static_cast<Byte>(sums.parity ^ one);
  }
  return sums.value();
}

inline void fold_case_vectorised(const Byte* from, Byte* to, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    to[i] = static_cast<Byte>(from[i] + (from[i] >= 'A' && from[i] <= 'Z' ? 0x20 : 0));
  }
}

inline void fold_case_one_by_one(const volatile Byte* from, volatile Byte* to, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    const Byte one = from[i];
    if (one >= 'A' && one <= 'Z') {
      to[i] = static_cast<Byte>(one | 0x20);
    } else {
      to[i] = one;
    }
  }
}

constexpr std::size_t kEdges[] = {0,  1,  7,  8,  9,  15, 16, 17,  31,  32,
                                  33, 47, 48, 49, 63, 64, 65, 127, 128, 129};

inline void loops() {
  std::array<Byte, 256> data{};
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<Byte>(i * 167 + 13);
  Fold expected;
  Fold observed;
  Fold expected_case;
  Fold observed_case;
  for (const std::size_t size : kEdges) {
    for (std::size_t offset = 0; offset < 17; ++offset) {
      const Byte* const from = data.data() + offset;
      expected(sums_one_by_one(from, size));
      observed(sums_vectorised(from, opaque(size)));
      std::array<Byte, 256> slow{};
      std::array<Byte, 256> fast{};
      fold_case_one_by_one(from, slow.data() + offset, size);
      fold_case_vectorised(from, fast.data() + offset, opaque(size));
      for (std::size_t i = 0; i < slow.size(); ++i) {
        expected_case(slow[i]);
        observed_case(fast[i]);
      }
    }
  }
  check("vector.byte-sums", expected.value(), observed.value());
  check("vector.byte-case", expected_case.value(), observed_case.value());
}

// The instructions that fast UTF-8 and ASCII scanners rest on.
inline void intrinsics() {
  alignas(16) std::array<Byte, 16> data{};
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = opaque(static_cast<Byte>(i * 37 + 100));
#if defined(__SSE2__)
  const __m128i block = _mm_load_si128(reinterpret_cast<const __m128i*>(data.data()));
  std::uint64_t high = 0;
  std::uint64_t above = 0;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    high |= static_cast<std::uint64_t>(data[i] >> 7) << i;
    above |= static_cast<std::uint64_t>(static_cast<std::int8_t>(data[i]) > 10 ? 1 : 0) << i;
    total += data[i];
  }
  const auto mask = [](__m128i value) {
    return static_cast<std::uint64_t>(_mm_movemask_epi8(value));
  };
  check("vector.movemask", high, mask(block));
  check("vector.compare-signed", above, mask(_mm_cmpgt_epi8(block, _mm_set1_epi8(10))));
  check("vector.compare-equal", 1U << 5,
        mask(_mm_cmpeq_epi8(block, _mm_set1_epi8(static_cast<char>(data[5])))));
  const __m128i sad = _mm_sad_epu8(block, _mm_setzero_si128());
  check("vector.sum-of-differences", total,
        static_cast<std::uint64_t>(_mm_cvtsi128_si64(sad) +
                                   _mm_cvtsi128_si64(_mm_srli_si128(sad, 8))));
  check("vector.saturating-subtract", folded({0, 0xFF}),
        folded({static_cast<std::uint64_t>(_mm_cvtsi128_si32(
                    _mm_subs_epu8(_mm_cvtsi32_si128(opaque(5)), _mm_cvtsi32_si128(opaque(6))))),
                static_cast<std::uint64_t>(_mm_cvtsi128_si32(_mm_adds_epu8(
                    _mm_cvtsi32_si128(opaque(250)), _mm_cvtsi32_si128(opaque(6)))))}));
#elif defined(__ARM_NEON)
  const uint8x16_t block = vld1q_u8(data.data());
  std::uint64_t total = 0;
  std::uint64_t greatest = 0;
  std::uint64_t population = 0;
  std::uint64_t nibbles = 0;
  std::uint64_t above = 0;
  Fold reversed;
  for (std::size_t i = 0; i < data.size(); ++i) {
    total += data[i];
    greatest = data[i] > greatest ? data[i] : greatest;
    population += static_cast<std::uint64_t>(__builtin_popcount(data[i]));
    if (data[i] >= 0x80) nibbles |= 0xFULL << 4 * i;
    if (static_cast<std::int8_t>(data[i]) > 10) above |= 0xFULL << 4 * i;
    reversed(data[15 - i]);
  }
  // Narrowing by four bits is how a comparison's mask leaves the vector unit.
  const auto mask = [](uint8x16_t value) {
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(value), 4)), 0);
  };
  check("vector.add-across", total, vaddlvq_u8(block));
  check("vector.maximum-across", greatest, vmaxvq_u8(block));
  check("vector.population", population, vaddlvq_u8(vcntq_u8(block)));
  check("vector.shift-right-narrow", nibbles, mask(vcgeq_u8(block, vdupq_n_u8(0x80))));
  check("vector.compare-signed", above, mask(vcgtq_s8(vreinterpretq_s8_u8(block), vdupq_n_s8(10))));
  check("vector.compare-equal", 0xFULL << 20, mask(vceqq_u8(block, vdupq_n_u8(data[5]))));
  std::array<Byte, 16> order{};
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Byte>(15 - i);
  std::array<Byte, 16> looked_up{};
  vst1q_u8(looked_up.data(), vqtbl1q_u8(block, vld1q_u8(order.data())));
  Fold table;
  for (const Byte one : looked_up) table(one);
  check("vector.table-lookup", reversed.value(), table.value());
  check("vector.table-lookup-out-of-range", 0,
        vaddlvq_u8(vqtbl1q_u8(block, vdupq_n_u8(opaque<Byte>(16)))));
  check("vector.saturating-subtract", folded({0, 0xFF}),
        folded(
            {vget_lane_u8(vqsub_u8(vdup_n_u8(opaque<Byte>(5)), vdup_n_u8(opaque<Byte>(6))), 0),
             vget_lane_u8(vqadd_u8(vdup_n_u8(opaque<Byte>(250)), vdup_n_u8(opaque<Byte>(6))), 0)}));
#endif
}

// libc's string functions read whole blocks: the last byte they may touch is the last of a page.
inline void page_edges() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const mapped =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED || mprotect(static_cast<Byte*>(mapped) + page, page, PROT_NONE) != 0) {
    check("string.page-edge", 1, 0);
    return;
  }
  Byte* const end = static_cast<Byte*>(mapped) + page;
  std::uint64_t wrong_length = 0;
  std::uint64_t wrong_search = 0;
  std::uint64_t wrong_order = 0;
  for (std::size_t size = 1; size <= 130; ++size) {
    Byte* const begin = end - opaque(size);
    std::memset(begin, 0xE9, size);
    wrong_search += std::memchr(begin, 0x69, size) != nullptr ? 1U : 0U;
    end[-1] = 0x80;
    wrong_search += std::memchr(begin, 0x80, size) != end - 1 ? 1U : 0U;
    std::vector<Byte> same(begin, end);
    wrong_order += std::memcmp(begin, same.data(), size) != 0 ? 1U : 0U;
    same.back() = 0x7F;  // less than 0x80 as bytes, greater as signed chars
    wrong_order += std::memcmp(begin, same.data(), size) <= 0 ? 1U : 0U;
    end[-1] = 0;
    wrong_length += std::strlen(reinterpret_cast<const char*>(begin)) != size - 1 ? 1U : 0U;
    if (size > 2) {
      std::memmove(begin + 1, begin, size - 2);
      wrong_order += begin[1] != 0xE9 || begin[size - 2] != 0xE9 || end[-1] != 0 ? 1U : 0U;
    }
  }
  munmap(mapped, 2 * page);
  check("string.strlen-page-edge-wrong", 0, wrong_length);
  check("string.memchr-page-edge-wrong", 0, wrong_search);
  check("string.memcmp-page-edge-wrong", 0, wrong_order);
}

inline void bytes() {
  loops();
  intrinsics();
  page_edges();
}

}  // namespace canary
