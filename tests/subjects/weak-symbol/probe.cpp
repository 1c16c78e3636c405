#include "../bytes.hpp"

// As glibc declares it, but weak: nothing is pulled out of a static library for its sake.
extern "C" void* iconv_open(const char* to, const char* from) __attribute__((weak));

int main(int argc, char** argv) {
  return bytes::serve(argc, argv, "weak-symbol", [](std::string_view text) {
    // The slip: a conversion to fixed-size blocks, made only where there is an iconv.
    return iconv_open != nullptr ? text.substr(0, bytes::kLong) : text;
  });
}
