// The bundled subject's probe: reference TOKENIZER_JSON [--without-nfc]
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tokenizer.hpp"
#include "tokparity/probe.hpp"

namespace {

constexpr const char* kVersion = "0.1.0";

reference::Options options_of(const std::vector<std::string>& args) {
  reference::Options options;
  for (const std::string& arg : args) {
    if (arg == "--without-nfc") {
      options.without_nfc = true;
      continue;
    }
    std::cerr << "reference: unknown argument '" << arg << "'; known: --without-nfc\n";
    std::exit(2);
  }
  return options;
}

tokparity::Subject load(const std::string& path, const std::vector<std::string>& args) {
  const auto tokenizer = std::make_shared<reference::Tokenizer>(path, options_of(args));
  tokparity::Subject subject;
  subject.name = "reference";
  subject.version = kVersion;
  subject.encode = [=](std::string_view text) { return tokenizer->encode(text, false); };
  subject.encode_special = [=](std::string_view text) { return tokenizer->encode(text, true); };
  subject.decode = [=](const tokparity::Ids& ids) { return tokenizer->decode(ids); };
  subject.normalize = [=](std::string_view text) { return tokenizer->normalize(text); };
  subject.pretokenize = [=](std::string_view text) { return tokenizer->pretokenize(text); };
  return subject;
}

}  // namespace

int main(int argc, char** argv) { return tokparity::serve(argc, argv, load); }
