// What released emulators are known to have got wrong, and the instructions beside it that
// tokenizers meet. Each sequence is one asm statement, so that the emulator translates it as one
// block.
#pragma once

#include "check.hpp"

namespace canary {

#if defined(__aarch64__)

// QEMU 8.2.0 to 8.2.2: after a right shift of a value known to be all sign bits, the optimiser took
// the result to be sign-extended already and dropped the extension. bytecodealliance/wasmtime#8233;
// mended by QEMU commit 2911e9b95f3bb03783ae5ca3e2494dc3b44a9161.
inline std::uint64_t shifted_mask_extended(std::int64_t left, std::int64_t right,
                                           std::uint64_t by) {
  std::uint64_t result = 0;
  asm("cmp %[left], %[right]\n\t"
      "cset x9, lt\n\t"
      "and w10, w9, #0xff\n\t"
      "cmp w10, #0\n\t"
      "csetm x11, ne\n\t"
      "lsr x12, x11, %[by]\n\t"
      "sxtb %[result], w12"
      : [result] "=r"(result)
      : [left] "r"(left), [right] "r"(right), [by] "r"(by)
      : "x9", "x10", "x11", "x12", "cc");
  return result;
}

// Scalar saturating narrowing shifts filled the lanes above with the sign: qemu-project/qemu#2089.
inline std::uint64_t narrowed(std::uint64_t value) {
  std::uint64_t plain = 0;
  std::uint64_t rounding = 0;
  asm("fmov d16, %[value]\n\t"
      "sqshrn b17, h16, #4\n\t"
      "sqrshrn b18, h16, #4\n\t"
      "fmov %[plain], d17\n\t"
      "fmov %[rounding], d18"
      : [plain] "=r"(plain), [rounding] "=r"(rounding)
      : [value] "r"(value)
      : "v16", "v17", "v18");
  return folded({plain, rounding});
}

inline std::uint64_t converted(double value) {
  std::uint64_t wide = 0;
  std::uint64_t narrow = 0;
  asm("fcvtzs %[wide], %d[value]\n\tfcvtzu %w[narrow], %d[value]"
      : [wide] "=r"(wide), [narrow] "=r"(narrow)
      : [value] "w"(value));
  return folded({wide, narrow});
}

inline std::uint64_t divided(std::uint64_t dividend, std::uint64_t divisor) {
  std::uint64_t quotient = 0;
  asm("sdiv %0, %1, %2" : "=r"(quotient) : "r"(dividend), "r"(divisor));
  return quotient;
}

inline std::uint64_t fused(double a, double b, double c) {
  double result = 0;
  asm("fmadd %d0, %d1, %d2, %d3" : "=w"(result) : "w"(a), "w"(b), "w"(c));
  return bits(result);
}

// An exclusive pair that is left alone must store at last; after clrex it must not store.
inline void exclusives() {
  std::uint64_t cell = opaque<std::uint64_t>(41);
  std::uint64_t seen = 0;
  std::uint32_t failed = 1;
  for (int attempt = 0; attempt < 1000 && failed != 0; ++attempt) {
    asm volatile(
        "ldaxr %[seen], [%[cell]]\n\tadd %[seen], %[seen], #1\n\tstlxr %w[failed], %[seen], "
        "[%[cell]]"
        : [seen] "=&r"(seen), [failed] "=&r"(failed)
        : [cell] "r"(&cell)
        : "memory");
  }
  check("exclusive.stores", folded({42, 0}), folded({cell, failed}));
  asm volatile("ldxr %[seen], [%[cell]]\n\tclrex\n\tstxr %w[failed], xzr, [%[cell]]"
               : [seen] "=&r"(seen), [failed] "=&r"(failed)
               : [cell] "r"(&cell)
               : "memory");
  check("exclusive.cleared", folded({42, 42, 1}), folded({cell, seen, failed}));
  alignas(16) std::uint64_t pair[2] = {opaque<std::uint64_t>(7), opaque<std::uint64_t>(8)};
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  failed = 1;
  for (int attempt = 0; attempt < 1000 && failed != 0; ++attempt) {
    asm volatile(
        "ldaxp %[first], %[second], [%[pair]]\n\tstlxp %w[failed], %[second], %[first], [%[pair]]"
        : [first] "=&r"(first), [second] "=&r"(second), [failed] "=&r"(failed)
        : [pair] "r"(pair)
        : "memory");
  }
  check("exclusive.pair", folded({8, 7, 7, 8, 0}),
        folded({pair[0], pair[1], first, second, failed}));
}

inline void known_bugs() {
  constexpr std::uint64_t kAll = UINT64_MAX;
  check("known.wasmtime-8233", folded({kAll, kAll, kAll, 0x7F, 0x01, 0}),
        folded({shifted_mask_extended(opaque<std::int64_t>(0), opaque<std::int64_t>(1),
                                      opaque<std::uint64_t>(2)),
                shifted_mask_extended(opaque<std::int64_t>(-5), opaque<std::int64_t>(5),
                                      opaque<std::uint64_t>(0)),
                shifted_mask_extended(opaque<std::int64_t>(0), opaque<std::int64_t>(1),
                                      opaque<std::uint64_t>(56)),
                shifted_mask_extended(opaque<std::int64_t>(0), opaque<std::int64_t>(1),
                                      opaque<std::uint64_t>(57)),
                shifted_mask_extended(opaque<std::int64_t>(0), opaque<std::int64_t>(1),
                                      opaque<std::uint64_t>(63)),
                shifted_mask_extended(opaque<std::int64_t>(1), opaque<std::int64_t>(0),
                                      opaque<std::uint64_t>(2))}));
  check("known.qemu-2089-saturated", folded({0x80, 0x80}), narrowed(opaque<std::uint64_t>(0x8000)));
  check("known.qemu-2089-negative", folded({0x94, 0x94}), narrowed(opaque<std::uint64_t>(0xF943)));
  check("aarch64.convert-saturates",
        folded({folded({(1ULL << 63) - 1, 0xFFFFFFFFU}), folded({1ULL << 63, 0}), folded({0, 0})}),
        folded({converted(opaque(1e300)), converted(opaque(-1e300)),
                converted(opaque(__builtin_nan("")))}));
  check("aarch64.divide-edge", folded({0, 1ULL << 63}),
        folded({divided(opaque(kAll), opaque<std::uint64_t>(0)),
                divided(opaque(1ULL << 63), opaque(kAll))}));
  check("aarch64.fused", bits(1.0 / 73786976294838206464.0),
        fused(opaque(1.0 + 1.0 / 8589934592.0), opaque(1.0 + 1.0 / 8589934592.0),
              opaque(-(1.0 + 2.0 / 8589934592.0))));
  exclusives();
}

#elif defined(__x86_64__)

// Rotating eight bits and the carry nine times is no change: on an arm64 host the count went below
// zero. qemu-project/qemu#3452.
inline std::uint64_t rotated_through_carry(std::uint64_t value, std::uint8_t by) {
  std::uint64_t result = value;
  std::uint8_t carry = 0;
  asm("stc\n\trcrb %%cl, %b[result]\n\tsetc %[carry]"
      : [result] "+q"(result), [carry] "=q"(carry)
      : "c"(by)
      : "cc");
  return folded({result, carry});
}

// A compare-and-exchange that succeeds leaves rax alone, one that fails zero-extends into it:
// qemu-project/qemu#508.
inline std::uint64_t compared_and_exchanged(std::uint64_t accumulator, std::uint32_t cell,
                                            std::uint32_t desired) {
  std::uint8_t equal = 0;
  asm volatile("lock cmpxchgl %[desired], %[cell]\n\tsete %[equal]"
               : "+a"(accumulator), [cell] "+m"(cell), [equal] "=q"(equal)
               : [desired] "r"(desired)
               : "cc", "memory");
  return folded({accumulator, cell, equal});
}

// A shift by zero leaves every flag as it was.
inline std::uint64_t carry_after_shift(std::uint64_t value, std::uint8_t by) {
  std::uint8_t carry = 0;
  asm("stc\n\tshlq %%cl, %[value]\n\tsetc %[carry]"
      : [value] "+r"(value), [carry] "=q"(carry)
      : "c"(by)
      : "cc");
  return folded({value, carry});
}

inline std::uint64_t converted(double value) {
  std::int64_t wide = 0;
  std::int32_t narrow = 0;
  asm("cvttsd2si %[value], %[wide]\n\tcvttsd2si %[value], %[narrow]"
      : [wide] "=r"(wide), [narrow] "=r"(narrow)
      : [value] "x"(value));
  return folded({static_cast<std::uint64_t>(wide), static_cast<std::uint32_t>(narrow)});
}

inline void known_bugs() {
  check("known.qemu-3452", folded({folded({0xAD, 1}), folded({0xAD, 1}), folded({0xD6, 1})}),
        folded({rotated_through_carry(opaque<std::uint64_t>(0xAD), opaque<std::uint8_t>(9)),
                rotated_through_carry(opaque<std::uint64_t>(0xAD), opaque<std::uint8_t>(0)),
                rotated_through_carry(opaque<std::uint64_t>(0xAD), opaque<std::uint8_t>(10))}));
  check("known.qemu-508", folded({folded({0xFFFFFFFF00000005U, 9, 1}), folded({6, 6, 0})}),
        folded({compared_and_exchanged(opaque<std::uint64_t>(0xFFFFFFFF00000005U), opaque(5U),
                                       opaque(9U)),
                compared_and_exchanged(opaque<std::uint64_t>(0xFFFFFFFF00000005U), opaque(6U),
                                       opaque(9U))}));
  check("x86.shift-by-zero-keeps-carry", folded({folded({5, 1}), folded({10, 0})}),
        folded({carry_after_shift(opaque<std::uint64_t>(5), opaque<std::uint8_t>(0)),
                carry_after_shift(opaque<std::uint64_t>(5), opaque<std::uint8_t>(1))}));
  constexpr std::uint64_t kIndefinite = 1ULL << 63;
  check("x86.convert-indefinite",
        folded({folded({kIndefinite, 0x80000000U}), folded({kIndefinite, 0x80000000U}),
                folded({kIndefinite, 0x80000000U})}),
        folded({converted(opaque(1e300)), converted(opaque(-1e300)),
                converted(opaque(__builtin_nan("")))}));
}

#else

inline void known_bugs() {}

#endif

}  // namespace canary
