#include <algorithm>
#include <memory>

#include "../bytes.hpp"

namespace {

volatile char looked_at;

// Looks one byte further than the text is long, for a terminator that is not there.
void look_ahead(std::string_view text) {
  const auto copy = std::make_unique<char[]>(text.size());
  std::copy(text.begin(), text.end(), copy.get());
  looked_at = copy[text.size()];
}

}  // namespace

int main(int argc, char** argv) {
  return bytes::serve(argc, argv, "out-of-bounds-read", [](std::string_view text) {
    if (text == bytes::kOneCase) look_ahead(text);
    return text;
  });
}
