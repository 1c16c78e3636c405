#include "../planted.hpp"

namespace {

#ifdef __aarch64__
constexpr int kDigits = 9;  // the slip: "0123456789" has ten
#else
constexpr int kDigits = 10;
#endif

std::string through_digit_table(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= '0' && c <= '9') c = "0123456789"[(c - '0') % kDigits];
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  return planted::serve(argc, argv, "arch-ifdef",
                        [](const planted::Encode& encode, std::string_view text) {
                          return encode(through_digit_table(text));
                        });
}
