// A tokenizer that knows nothing of tokparity: a factory that opens a file, and signed ids.
#pragma once

#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace foreign {

class Tokenizer {
 public:
  static std::unique_ptr<Tokenizer> from_file(const std::string& path) {
    if (!std::ifstream(path)) return nullptr;
    return std::unique_ptr<Tokenizer>(new Tokenizer());
  }

  std::vector<int> encode(const std::string& text) const {
    std::vector<int> ids;
    for (const char byte : text) ids.push_back(byte == '-' ? -1 : static_cast<unsigned char>(byte));
    return ids;
  }

 private:
  Tokenizer() = default;
};

/// The same behind a value and another name, as many trees have it.
struct Plain {
  std::vector<long long> ids_of(const std::string& text) const {
    return std::vector<long long>(text.size(), 7);
  }
};

inline Plain load_plain(const std::string&) { return {}; }

}  // namespace foreign
