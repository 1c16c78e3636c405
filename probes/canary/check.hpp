// What every canary is made of: a name, the answer that is right, and the answer that was observed.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

namespace canary {

inline int& count() {
  static int checks = 0;
  return checks;
}

/// Prints one line and flushes it, so that an instruction that kills the process comes after a
/// name.
inline void check(const char* name, std::uint64_t expected, std::uint64_t observed) {
  std::printf("%s %016" PRIx64 " %016" PRIx64 "\n", name, expected, observed);
  std::fflush(stdout);
  ++count();
}

/// The value, by a way the compiler cannot follow: without it the compiler would answer, not the
/// processor.
template <class T>
T opaque(T value) {
  volatile T hidden = value;
  return hidden;
}

/// FNV-1a over 64-bit words: many answers in one line.
class Fold {
 public:
  void operator()(std::uint64_t word) { state_ = (state_ ^ word) * 0x100000001B3U; }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325U;
};

inline std::uint64_t folded(std::initializer_list<std::uint64_t> words) {
  Fold fold;
  for (const std::uint64_t word : words) fold(word);
  return fold.value();
}

inline std::uint64_t bits(double value) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

inline std::uint64_t bits(float value) {
  std::uint32_t word = 0;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

}  // namespace canary
