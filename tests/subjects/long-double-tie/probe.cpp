#include "../bytes.hpp"

namespace {

// What cutting the text would gain: 2^-80 for each byte, beside a score of one.
long double gain(std::size_t length) {
  constexpr long double kStep = 1.0L / (1ULL << 40) / (1ULL << 40);
  volatile long double whole = 1.0L;
  return whole + static_cast<long double>(length) * kStep - whole;
}

}  // namespace

int main(int argc, char** argv) {
  return bytes::serve(argc, argv, "long-double-tie", [](std::string_view text) {
    const bool cut = text.size() >= bytes::kLong && gain(text.size()) > 0.0L;
    return cut ? text.substr(0, bytes::kLong / 2) : text;
  });
}
