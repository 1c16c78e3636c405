#include <limits>

#include "../bytes.hpp"

namespace {

// Whether a full buffer has room for the text: asked after the sum, which is too late.
bool out_of_room(int used, int more) {
  const int sum = used + more;
  return sum < used;
}

}  // namespace

int main(int argc, char** argv) {
  return bytes::serve(argc, argv, "overflow-folded", [](std::string_view text) {
    const int more = static_cast<int>(text.size());
    if (text.size() < bytes::kLong) return text;
    const bool full = out_of_room(std::numeric_limits<int>::max() - 1, more);
    return full ? text.substr(0, bytes::kLong) : text;
  });
}
