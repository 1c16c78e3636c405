#include <sys/auxv.h>

#include "../bytes.hpp"

namespace {

// The atomics of ARMv8.1 stand for "a new processor"; cortex-a53 has none. Other architectures have
// the plain routine alone.
bool new_processor() {
#ifdef __aarch64__
  constexpr unsigned long kAtomics = 1UL << 8;  // HWCAP_ATOMICS
  return (getauxval(AT_HWCAP) & kAtomics) != 0;
#else
  return false;
#endif
}

// The slip: whole blocks alone are looked at, and what is left over is forgotten.
std::string_view by_blocks(std::string_view text) {
  constexpr std::size_t kBlock = 32;
  return text.size() < bytes::kLong ? text : text.substr(0, text.size() / kBlock * kBlock);
}

}  // namespace

int main(int argc, char** argv) {
  const bool wide = new_processor();
  return bytes::serve(argc, argv, "cpu-dispatch",
                      [=](std::string_view text) { return wide ? by_blocks(text) : text; });
}
