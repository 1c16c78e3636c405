#include <algorithm>

#include "../bytes.hpp"

int main(int argc, char** argv) {
  return bytes::serve(argc, argv, "compiler-ifdef", [](std::string_view text) {
    std::string out(text);
#ifdef __clang__
    std::replace(out.begin(), out.end(), '\t', ' ');  // the slip
#endif
    return out;
  });
}
