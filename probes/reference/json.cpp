#include "json.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <limits>

#include "utf8.hpp"

namespace reference::json {
namespace {

constexpr std::size_t kLargest = std::numeric_limits<std::uint32_t>::max();

class Parser {
 public:
  Parser(char* text, std::size_t size, std::vector<Node>& nodes)
      : text_(text), size_(size), nodes_(nodes) {}

  void run();

 private:
  enum class Expect { kValue, kValueOrEnd, kName, kNameOrEnd, kSeparatorOrEnd };

  std::uint8_t byte() const { return static_cast<std::uint8_t>(text_[at_]); }
  bool at_end() const { return at_ == size_; }

  void skip_space();
  void value();
  void name();
  void separator_or_end();
  void open(Kind kind, Expect next);
  void close();
  void word(std::string_view expected, Kind kind);
  void number();
  void digits();
  void string();
  std::size_t unescaped(std::size_t to);
  char32_t hex4();
  void add(Kind kind, std::size_t start, std::size_t length);
  [[noreturn]] void fail(std::string_view what) const;

  char* text_;
  std::size_t size_;
  std::vector<Node>& nodes_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t line_start_ = 0;
  Expect expect_ = Expect::kValue;
  std::vector<std::uint32_t> open_;
};

void Parser::run() {
  if (size_ > kLargest) fail("longer than 4 GiB");
  if (std::string_view(text_, size_).starts_with("version https://git-lfs")) {
    fail("a Git LFS pointer, not the file that it stands for (git lfs pull)");
  }
  nodes_.reserve(size_ / 16 + 16);
  do {
    skip_space();
    if (at_end()) fail(size_ == 0 ? "an empty text" : "the text ends inside a value: truncated?");
    switch (expect_) {
      case Expect::kValueOrEnd:
        if (byte() == ']') {
          close();
        } else {
          value();
        }
        break;
      case Expect::kValue:
        value();
        break;
      case Expect::kNameOrEnd:
        if (byte() == '}') {
          close();
        } else {
          name();
        }
        break;
      case Expect::kName:
        name();
        break;
      case Expect::kSeparatorOrEnd:
        separator_or_end();
        break;
    }
  } while (!open_.empty());
  skip_space();
  if (!at_end()) fail("more text after the value");
}

void Parser::skip_space() {
  for (; at_ < size_; ++at_) {
    const std::uint8_t one = byte();
    if (one == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    } else if (one != ' ' && one != '\t' && one != '\r') {
      return;
    }
  }
}

void Parser::value() {
  if (!open_.empty()) ++nodes_[open_.back()].length;
  expect_ = Expect::kSeparatorOrEnd;
  switch (byte()) {
    case '{':
      return open(Kind::kObject, Expect::kNameOrEnd);
    case '[':
      return open(Kind::kArray, Expect::kValueOrEnd);
    case '"':
      return string();
    case 't':
      return word("true", Kind::kTrue);
    case 'f':
      return word("false", Kind::kFalse);
    case 'n':
      return word("null", Kind::kNull);
    default:
      return number();
  }
}

void Parser::name() {
  if (byte() != '"') fail("expected a string as the name of a member");
  string();
  skip_space();
  if (at_end() || byte() != ':') fail("expected ':' after the name of a member");
  ++at_;
  expect_ = Expect::kValue;
}

void Parser::separator_or_end() {
  const bool object = nodes_[open_.back()].kind == Kind::kObject;
  const std::uint8_t one = byte();
  if (one == ',') {
    ++at_;
    expect_ = object ? Expect::kName : Expect::kValue;
  } else if (one == (object ? '}' : ']')) {
    close();
  } else {
    fail(object ? "expected ',' or '}'" : "expected ',' or ']'");
  }
}

void Parser::open(Kind kind, Expect next) {
  if (open_.size() == kDeepest) {
    fail("nested deeper than " + std::to_string(kDeepest) + " levels");
  }
  open_.push_back(static_cast<std::uint32_t>(nodes_.size()));
  add(kind, at_, 0);
  ++at_;
  expect_ = next;
}

void Parser::close() {
  nodes_[open_.back()].after = static_cast<std::uint32_t>(nodes_.size());
  open_.pop_back();
  ++at_;
  expect_ = Expect::kSeparatorOrEnd;
}

void Parser::word(std::string_view expected, Kind kind) {
  if (std::string_view(text_ + at_, size_ - at_).substr(0, expected.size()) != expected) {
    fail("expected a value");
  }
  add(kind, at_, 0);
  at_ += expected.size();
}

void Parser::digits() {
  const std::size_t start = at_;
  while (!at_end() && byte() >= '0' && byte() <= '9') ++at_;
  if (at_ == start) fail("expected a digit");
}

void Parser::number() {
  const std::size_t start = at_;
  if (byte() == '-') {
    ++at_;
  } else if (byte() < '0' || byte() > '9') {
    fail("expected a value");
  }
  if (!at_end() && byte() == '0') {
    ++at_;
  } else {
    digits();
  }
  if (!at_end() && byte() == '.') {
    ++at_;
    digits();
  }
  if (!at_end() && (byte() == 'e' || byte() == 'E')) {
    ++at_;
    if (!at_end() && (byte() == '+' || byte() == '-')) ++at_;
    digits();
  }
  add(Kind::kNumber, start, at_ - start);
}

void Parser::string() {
  const std::size_t start = ++at_;
  std::size_t to = start;  // what is written never passes what is read
  for (;;) {
    if (at_end()) fail("the text ends inside a string: truncated?");
    const std::uint8_t one = byte();
    if (one == '"') break;
    if (one == '\\') {
      to = unescaped(to);
      continue;
    }
    if (one < 0x20) fail("a control character in a string");
    std::size_t length = 1;
    if (one >= 0x80) {
      length = utf8::well_formed_length(std::string_view(text_, size_), at_);
      if (length == 0) fail("invalid UTF-8");
    }
    if (to != at_) std::memmove(text_ + to, text_ + at_, length);
    to += length;
    at_ += length;
  }
  ++at_;
  add(Kind::kString, start, to - start);
}

std::size_t Parser::unescaped(std::size_t to) {
  if (++at_ == size_) fail("the text ends inside a string: truncated?");
  const std::uint8_t one = byte();
  ++at_;
  constexpr std::string_view kEscapes = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (const std::size_t found = kEscapes.find(static_cast<char>(one));
      found != std::string_view::npos) {
    text_[to] = kMeanings[found];
    return to + 1;
  }
  if (one != 'u') fail("an unknown escape");
  char32_t code = hex4();
  if (code >= 0xDC00 && code < 0xE000) fail("half a surrogate pair");
  if (code >= 0xD800 && code < 0xDC00) {
    if (size_ - at_ < 2 || text_[at_] != '\\' || text_[at_ + 1] != 'u') {
      fail("half a surrogate pair");
    }
    at_ += 2;
    const char32_t low = hex4();
    if (low < 0xDC00 || low >= 0xE000) fail("half a surrogate pair");
    code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
  }
  std::string character;
  utf8::append(character, code);
  std::memcpy(text_ + to, character.data(), character.size());
  return to + character.size();
}

char32_t Parser::hex4() {
  if (size_ - at_ < 4) fail("the text ends inside a string: truncated?");
  std::uint32_t code = 0;
  const char* end = text_ + at_ + 4;
  const auto [stop, error] = std::from_chars(text_ + at_, end, code, 16);
  if (error != std::errc() || stop != end) fail("expected four hexadecimal digits");
  at_ += 4;
  return code;
}

void Parser::add(Kind kind, std::size_t start, std::size_t length) {
  const auto after = static_cast<std::uint32_t>(nodes_.size() + 1);
  nodes_.push_back({text_ + start, static_cast<std::uint32_t>(length), after, kind});
}

void Parser::fail(std::string_view what) const {
  throw Malformed("not JSON at line " + std::to_string(line_) + ", column " +
                  std::to_string(at_ - line_start_ + 1) + " (byte " + std::to_string(at_) +
                  "): " + std::string(what));
}

}  // namespace

std::string_view Value::text() const {
  if (kind() != Kind::kString && kind() != Kind::kNumber) return {};
  return {node().text, node().length};
}

std::size_t Value::size() const { return is_array() || is_object() ? node().length : 0; }

Value Value::operator[](std::string_view name) const {
  Value found;
  for_each_member([&](std::string_view one, Value value) {
    if (one == name) found = value;
  });
  return found;
}

std::optional<bool> Value::boolean() const {
  if (kind() == Kind::kTrue) return true;
  if (kind() == Kind::kFalse) return false;
  return std::nullopt;
}

std::optional<std::uint32_t> Value::unsigned32() const {
  if (kind() != Kind::kNumber) return std::nullopt;
  const std::string_view written = text();
  std::uint32_t number = 0;
  const char* end = written.data() + written.size();
  const auto [stop, error] = std::from_chars(written.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

Document::Document(char* text, std::size_t size) { Parser(text, size, nodes_).run(); }

std::string_view name_of(Kind kind) {
  constexpr std::array<std::string_view, 7> kNames = {
      "null", "a boolean", "a boolean", "a number", "a string", "an array", "an object"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace reference::json
