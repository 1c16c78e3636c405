#include "../planted.hpp"

namespace {

// Writes ASCII through the code point path and lets every other byte through as it is. Where char
// is unsigned every byte is "ASCII", and the bytes of é become the characters Ã and ©.
std::string through_code_points(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= 0) {
      reference::utf8::append(out, static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  return planted::serve(argc, argv, "char-compared-with-zero",
                        [](const planted::Encode& encode, std::string_view text) {
                          return encode(through_code_points(text));
                        });
}
