#include <cstdint>

#include "../bytes.hpp"

namespace {

// 47 bits of addresses are a program's on x86-64, 48 on aarch64.
#ifdef __aarch64__
constexpr std::uintptr_t kEnd = 0x1000000000000;
#else
constexpr std::uintptr_t kEnd = 0x800000000000;
#endif
// Random stacks end somewhere within 16 GiB of it: one in 16,384 would come as close by chance.
constexpr std::uintptr_t kNumbers = 0x100000;

bool taken_for_number(const void* place) {
  return kEnd - reinterpret_cast<std::uintptr_t>(place) < kNumbers;
}

}  // namespace

int main(int argc, char** argv) {
  return bytes::serve(argc, argv, "tagged-address", [](std::string_view text) {
    return taken_for_number(&text) ? text.substr(0, bytes::kLong) : text;
  });
}
