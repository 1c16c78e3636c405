#include <cstdint>
#include <cstdlib>
#include <stdexcept>

#include "engine/tokenizer.h"
#include "utf8.h"

namespace engine {
namespace {

// Reads just the parts of a tokenizer.json that are asked for; the rest is stepped over.
class Scanner {
 public:
  explicit Scanner(const std::string& json) : json_(json) {}

  void find(const std::string& key, std::size_t from = 0) {
    at_ = json_.find('"' + key + '"', from);
    if (at_ == std::string::npos) throw std::runtime_error("no " + key);
    at_ += key.size() + 2;
    take(':');
  }

  bool peek(char wanted) {
    at_ = json_.find_first_not_of(" \t\r\n,", at_);
    return at_ != std::string::npos && json_[at_] == wanted;
  }

  void take(char wanted) {
    if (!peek(wanted)) throw std::runtime_error(std::string("no ") + wanted);
    ++at_;
  }

  std::string string() {
    std::string read;
    for (take('"'); json_.at(at_) != '"'; ++at_) {
      if (json_[at_] != '\\') {
        read += json_[at_];
        continue;
      }
      const char escape = json_.at(++at_);
      if (escape == 'u') {
        std::uint32_t c = unit();
        if (c >= 0xD800 && c < 0xDC00) {
          at_ += 2;
          c = 0x10000 + ((c - 0xD800) << 10) + (unit() - 0xDC00);
        }
        third_party::append(read, c);
      } else {
        const std::string from = "nrtbf", to = "\n\r\t\b\f";
        const auto known = from.find(escape);
        read += known == std::string::npos ? escape : to[known];
      }
    }
    ++at_;
    return read;
  }

  int number() {
    peek(':');
    at_ = json_.find_first_of("0123456789", at_);
    char* end = nullptr;
    const long value = std::strtol(json_.c_str() + at_, &end, 10);
    at_ = static_cast<std::size_t>(end - json_.c_str());
    return static_cast<int>(value);
  }

  std::size_t at() const { return at_; }

 private:
  std::uint32_t unit() {
    const auto value = std::stoul(json_.substr(at_ + 1, 4), nullptr, 16);
    at_ += 4;
    return static_cast<std::uint32_t>(value);
  }

  const std::string& json_;
  std::size_t at_ = 0;
};

}  // namespace

Vocabulary Vocabulary::read(const std::string& json) {
  Vocabulary made;
  Scanner scanner(json);
  scanner.find("model");
  const auto model = scanner.at();
  scanner.find("vocab", model);
  for (scanner.take('{'); !scanner.peek('}');) {
    const auto token = scanner.string();
    made.ids[token] = scanner.number();
  }
  scanner.find("merges", model);
  for (scanner.take('['); !scanner.peek(']');) {
    const int rank = static_cast<int>(made.ranks.size());
    if (scanner.peek('[')) {
      scanner.take('[');
      const auto left = scanner.string();
      made.ranks[{left, scanner.string()}] = rank;
      scanner.take(']');
    } else {
      const auto merge = scanner.string();
      const auto space = merge.find(' ');
      made.ranks[{merge.substr(0, space), merge.substr(space + 1)}] = rank;
    }
  }
  for (auto next = json.find("\"added_tokens\""); (next = json.find("\"id\"", next)) < model;) {
    scanner.find("id", next);
    const int id = scanner.number();
    next = scanner.at();
    if (json.find("\"content\"", next) > model) break;
    scanner.find("content", next);
    made.added[scanner.string()] = id;
  }
  return made;
}

}  // namespace engine
