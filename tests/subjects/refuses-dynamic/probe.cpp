#include "../bytes.hpp"

// As glibc declares it, but weak: nothing is pulled out of a static library for its sake.
extern "C" void* iconv_open(const char* to, const char* from) __attribute__((weak));

int main(int argc, char** argv) {
  return tokparity::serve(argc, argv, [](const std::string&, const auto&) {
    if (iconv_open != nullptr) throw tokparity::Unsupported("no converter for this tokenizer");
    tokparity::Subject subject;
    subject.name = "refuses-dynamic";
    subject.version = "1";
    subject.encode = bytes::encode;
    return subject;
  });
}
