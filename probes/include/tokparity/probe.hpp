// The tokparity probe protocol, version 1 (docs/protocol.md), in one C++17 header without
// dependencies.
//
//   #include <tokparity/probe.hpp>
//
//   int main(int argc, char** argv) {
//     return tokparity::serve(argc, argv, [](const std::string& path, const auto& /*args*/) {
//       auto tokenizer = std::make_shared<MyTokenizer>(path);
//       tokparity::Subject subject;
//       subject.name = "mine";
//       subject.version = "1.2";
//       subject.encode = [tokenizer](std::string_view text) { return tokenizer->encode(text); };
//       return subject;
//     });
//   }
//
// hello states what this translation unit was compiled to be: compile the probe's main with the
// same flags as the subject. fd 0 and fd 1 are taken away from the subject before it is loaded, so
// that what it reads or prints by itself cannot disturb the protocol; what it prints goes to
// stderr.
#ifndef TOKPARITY_PROBE_HPP
#define TOKPARITY_PROBE_HPP

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

namespace tokparity {

using Ids = std::vector<std::uint32_t>;

/// Thrown while loading: the tokenizer is refused. Thrown by an operation: the answer is
/// `unsupported`.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a subject can do. `encode` is mandatory; an operation left empty is answered `unsupported`.
/// Texts are bytes, not necessarily valid UTF-8. Any exception becomes an `err` answer.
struct Subject {
  std::string name;
  std::string version;
  /// Ids without the post-processor's special tokens; added tokens in the text are matched.
  std::function<Ids(std::string_view)> encode;
  /// Ids with the post-processor's special tokens.
  std::function<Ids(std::string_view)> encode_special;
  std::function<std::string(const Ids&)> decode;
  std::function<std::string(std::string_view)> normalize;
  /// No piece is empty.
  std::function<std::vector<std::string>(std::string_view)> pretokenize;
  /// From an HTTP request body to the prompt it makes and that prompt's ids.
  std::function<std::pair<std::string, Ids>(std::string_view)> request;
};

using Load =
    std::function<Subject(const std::string& tokenizer_path, const std::vector<std::string>& args)>;

namespace detail {

/// A request that is not of the protocol; its message becomes the `err` answer.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr std::uint8_t kNotHex = 0xFF;

// Indexed by unsigned char, so the same under either signedness of char.
constexpr std::array<std::uint8_t, 256> hex_values() {
  std::array<std::uint8_t, 256> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = kNotHex;
  for (std::uint8_t i = 0; i < 10; ++i) values[static_cast<std::size_t>('0' + i)] = i;
  for (std::uint8_t i = 0; i < 6; ++i) {
    values[static_cast<std::size_t>('a' + i)] = static_cast<std::uint8_t>(10 + i);
    values[static_cast<std::size_t>('A' + i)] = static_cast<std::uint8_t>(10 + i);
  }
  return values;
}

inline void wait_for(int fd, short events) {
  pollfd one{fd, events, 0};
  while (::poll(&one, 1, -1) < 0 && errno == EINTR) {
  }
}

/// Lines from a descriptor, of any length. A last line without its newline is a line.
class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd), buffer_(std::size_t{1} << 16) {}

  /// The next line without its newline, valid until the next call; false at the end of input.
  bool next(std::string_view& line) {
    for (;;) {
      if (scanned_ < end_) {
        const void* found = std::memchr(buffer_.data() + scanned_, '\n', end_ - scanned_);
        if (found != nullptr) {
          const auto at =
              static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
          line = std::string_view(buffer_.data() + begin_, at - begin_);
          begin_ = scanned_ = at + 1;
          return true;
        }
        scanned_ = end_;
      }
      if (finished_) {
        line = std::string_view(buffer_.data() + begin_, end_ - begin_);
        const bool some = begin_ < end_;
        begin_ = scanned_ = end_;
        return some;
      }
      fill();
    }
  }

 private:
  void fill() {
    // Moving what is left to the front, before every read, keeps the buffer as small as the longest
    // line; doubling keeps a long line linear.
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      scanned_ -= begin_;
      begin_ = 0;
    }
    if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
    for (;;) {
      const ssize_t got = ::read(fd_, buffer_.data() + end_, buffer_.size() - end_);
      if (got > 0) {
        end_ += static_cast<std::size_t>(got);
        return;
      }
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        wait_for(fd_, POLLIN);
        continue;
      }
      finished_ = true;
      return;
    }
  }

  int fd_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;    // of the line being looked for
  std::size_t scanned_ = 0;  // no newline in [begin_, scanned_)
  std::size_t end_ = 0;
  bool finished_ = false;
};

/// Writes everything at once, so that a crash in the next request loses no answer; false when the
/// reader is gone.
inline bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait_for(fd, POLLOUT);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

/// Appends a space and the bytes in hexadecimal: every field of an answer is preceded by one space.
inline void append_hex(std::string& out, std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::size_t at = out.size();
  out.resize(at + 1 + 2 * bytes.size());
  out[at++] = ' ';
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    out[at++] = kDigits[value >> 4];
    out[at++] = kDigits[value & 0x0F];
  }
}

inline void append_ids(std::string& out, const Ids& ids) {
  constexpr std::size_t kWidest = 11;  // a space and ten digits
  std::size_t at = out.size();
  out.resize(at + kWidest * ids.size());
  for (const std::uint32_t id : ids) {
    out[at++] = ' ';
    char* const first = out.data() + at;
    at += static_cast<std::size_t>(std::to_chars(first, first + kWidest - 1, id).ptr - first);
  }
  out.resize(at);
}

inline void parse_hex(std::string_view hex, std::string& bytes) {
  static constexpr std::array<std::uint8_t, 256> kValues = hex_values();
  if (hex.size() % 2 != 0) throw Malformed("odd number of hexadecimal digits");
  bytes.resize(hex.size() / 2);
  std::uint8_t seen = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint8_t high = kValues[static_cast<unsigned char>(hex[2 * i])];
    const std::uint8_t low = kValues[static_cast<unsigned char>(hex[2 * i + 1])];
    seen = static_cast<std::uint8_t>(seen | high | low);
    bytes[i] = static_cast<char>(static_cast<unsigned char>((high << 4 | low) & 0xFF));
  }
  // Digits are below 0x10: one test at the end instead of two a byte.
  if (seen > 0x0F) throw Malformed("not a hexadecimal digit");
}

inline void parse_ids(std::string_view numbers, Ids& ids) {
  ids.clear();
  if (numbers.empty()) return;
  const char* at = numbers.data();
  const char* const end = at + numbers.size();
  for (;;) {
    std::uint32_t id = 0;
    const auto [next, problem] = std::from_chars(at, end, id);
    if (problem == std::errc::result_out_of_range) throw Malformed("id above 4294967295");
    if (problem != std::errc{}) throw Malformed("not a decimal number");
    ids.push_back(id);
    if (next == end) return;
    if (*next != ' ') throw Malformed("not a decimal number");
    at = next + 1;
  }
}

/// One code point of well-formed UTF-8 at the start of `bytes` and its length; {U+FFFD, 1}
/// otherwise.
inline std::pair<std::uint32_t, std::size_t> first_code_point(std::string_view bytes) {
  constexpr std::pair<std::uint32_t, std::size_t> kReplacement{0xFFFD, 1};
  const auto byte = [&](std::size_t i) {
    return std::uint32_t{static_cast<unsigned char>(bytes[i])};
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < length) return kReplacement;
  std::uint32_t point = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return kReplacement;
    point = point << 6 | (byte(i) & 0x3F);
  }
  constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (point < kLeast[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
    return kReplacement;
  }
  return {point, length};
}

/// The bytes as a JSON string in printable ASCII, whatever they are.
inline std::string json_string(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  const auto escape = [&out](std::uint32_t unit) {
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[unit >> shift & 0x0F];
  };
  while (!bytes.empty()) {
    const auto [point, length] = first_code_point(bytes);
    bytes.remove_prefix(length);
    if (point == '"' || point == '\\') {
      out += '\\';
      out += static_cast<char>(point);
    } else if (point >= 0x20 && point < 0x7F) {
      out += static_cast<char>(point);
    } else if (point < 0x10000) {
      escape(point);
    } else {
      escape(0xD800 + ((point - 0x10000) >> 10));
      escape(0xDC00 + ((point - 0x10000) & 0x3FF));
    }
  }
  return out += '"';
}

inline const char* architecture() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__i386__)
  return "i386";
#elif defined(__arm__)
  return "arm";
#elif defined(__riscv)
  return sizeof(void*) == 8 ? "riscv64" : "riscv32";
#elif defined(__s390x__)
  return "s390x";
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
  return "ppc64le";
#elif defined(__powerpc64__)
  return "ppc64";
#elif defined(__loongarch64)
  return "loongarch64";
#elif defined(__mips__)
  return sizeof(void*) == 8 ? "mips64" : "mips";
#else
  return "unknown";
#endif
}

inline const char* endianness() {
  const std::uint16_t two = 0x0102;
  unsigned char first = 0;
  std::memcpy(&first, &two, 1);
  return first == 0x02 ? "little" : "big";
}

inline std::string compiler() {
  const auto version = [](const char* name, int major, int minor, int patch) {
    return std::string(name) + ' ' + std::to_string(major) + '.' + std::to_string(minor) + '.' +
           std::to_string(patch);
  };
#if defined(__clang__)  // before __GNUC__, which clang defines too
  return version("clang", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return version("gcc", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return version("unknown", 0, 0, 0);
#endif
}

inline std::string libc() {
#if defined(__GLIBC__)
  return std::string("glibc ") + gnu_get_libc_version();
#elif defined(__BIONIC__)
  return "bionic";
#elif defined(__linux__)
  return "musl";  // which defines no macro of its own, on purpose
#elif defined(__APPLE__)
  return "libSystem";
#else
  return "unknown";
#endif
}

/// Whether this translation unit computes a*b+c with one rounding. The square of 1 + 2^-33 needs
/// 2^-66, which neither double nor x87's extended precision holds beside 1: only a fused operation
/// leaves a remainder. The operands are volatile, or the compiler would fold it with its own
/// rounding.
inline bool contracts() {
  const volatile double factor = 1.0 + 1.0 / 8589934592.0;
  const volatile double addend = -(1.0 + 2.0 / 8589934592.0);
  const double a = factor;
  const double b = factor;
  const double c = addend;
  return a * b + c > 0.0;
}

struct Operation {
  const char* name;
  bool offered;
};

inline std::array<Operation, 6> operations(const Subject& subject) {
  return {{{"encode", static_cast<bool>(subject.encode)},
           {"encode_special", static_cast<bool>(subject.encode_special)},
           {"decode", static_cast<bool>(subject.decode)},
           {"normalize", static_cast<bool>(subject.normalize)},
           {"pretokenize", static_cast<bool>(subject.pretokenize)},
           {"request", static_cast<bool>(subject.request)}}};
}

/// hello, with `"refused"` or `"error"` where `outcome` names one of them.
inline std::string hello(const Subject& subject, std::chrono::microseconds took,
                         const char* outcome, const std::string& message) {
#if defined(__OPTIMIZE__)
  const char* const optimised = "true";
#else
  const char* const optimised = "false";
#endif
  const auto signedness = [](bool is_signed) { return is_signed ? "\"signed\"" : "\"unsigned\""; };
  const std::string fraction = std::to_string(1000 + took.count() % 1000).substr(1);
  std::string line = "tokparity/1 {\"subject\":" + json_string(subject.name);
  line += ",\"version\":" + json_string(subject.version);
  line += ",\"arch\":" + json_string(architecture());
  line += ",\"pointer_bits\":" + std::to_string(CHAR_BIT * sizeof(void*));
  line += ",\"char\":" + std::string(signedness(std::numeric_limits<char>::is_signed));
  line += ",\"wchar\":" + std::string(signedness(std::numeric_limits<wchar_t>::is_signed));
  line += ",\"wchar_bits\":" + std::to_string(CHAR_BIT * sizeof(wchar_t));
  line += ",\"long_double_bits\":" + std::to_string(std::numeric_limits<long double>::digits);
  line += ",\"endian\":" + json_string(endianness());
  line += ",\"compiler\":" + json_string(compiler());
  line += ",\"cplusplus\":" + std::to_string(__cplusplus);
  line += std::string(",\"optimised\":") + optimised;
  line += std::string(",\"fp_contract\":") + (contracts() ? "\"fast\"" : "\"off\"");
  line += ",\"libc\":" + json_string(libc());
  line += ",\"load_ms\":" + std::to_string(took.count() / 1000) + '.' + fraction;
  line += ",\"operations\":[";
  const char* separator = "";
  for (const Operation& operation : operations(subject)) {
    if (outcome != nullptr || !operation.offered) continue;
    line += separator + json_string(operation.name);
    separator = ",";
  }
  line += ']';
  if (outcome != nullptr) line += std::string(",\"") + outcome + "\":" + json_string(message);
  return line += "}\n";
}

/// Answers requests; its buffers live as long as it does, so that a short request allocates
/// nothing.
class Answerer {
 public:
  explicit Answerer(const Subject& subject) : subject_(subject) {}

  /// The answer to one request line, with its newline; valid until the next call.
  std::string_view answer(std::string_view line) {
    try {
      out_ = "ok";
      dispatch(line);
    } catch (const Unsupported&) {
      out_ = "unsupported";
    } catch (const std::exception& error) {
      failed(error.what());
    } catch (...) {
      failed("an exception that is no std::exception");
    }
    out_ += '\n';
    return out_;
  }

 private:
  void failed(std::string_view message) {
    out_ = "err";
    append_hex(out_,
               message.empty() ? std::string_view("an exception without a message") : message);
  }

  void dispatch(std::string_view line) {
    if (line.empty()) throw Malformed("empty request");
    const std::size_t space = line.find(' ');
    const std::string_view name = line.substr(0, space);
    bool offered = false;
    for (const Operation& operation : operations(subject_)) {
      if (name == operation.name) offered = operation.offered;
    }
    if (!offered) throw Unsupported("no such operation");
    if (space == std::string_view::npos) throw Malformed("no space after the operation");
    const std::string_view operand = line.substr(space + 1);
    if (name == "decode") {
      parse_ids(operand, ids_);
      append_hex(out_, subject_.decode(ids_));
      return;
    }
    parse_hex(operand, text_);
    if (name == "encode") {
      append_ids(out_, subject_.encode(text_));
    } else if (name == "encode_special") {
      append_ids(out_, subject_.encode_special(text_));
    } else if (name == "normalize") {
      append_hex(out_, subject_.normalize(text_));
    } else if (name == "pretokenize") {
      for (const std::string& piece : subject_.pretokenize(text_)) {
        if (piece.empty()) throw std::logic_error("pretokenize gave an empty piece");
        append_hex(out_, piece);
      }
    } else {
      const auto [prompt, ids] = subject_.request(text_);
      append_hex(out_, prompt);
      append_ids(out_, ids);
    }
  }

  const Subject& subject_;
  std::string text_;
  Ids ids_;
  std::string out_;
};

/// Moves descriptor `fd` out of the subject's reach; the new descriptor, or -1. stdio's buffers are
/// not flushed before: what a static initialiser printed goes where `fd` then leads, not into the
/// protocol.
inline int take_away(int fd, int replacement) {
  const int mine = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (mine < 0) return -1;
  if (replacement >= 0 && ::dup2(replacement, fd) >= 0) return mine;
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0 && null != fd) {
    ::dup2(null, fd);
    ::close(null);
  }
  return mine;
}

}  // namespace detail

/// Speaks the protocol on stdin and stdout until the end of input. The first argument is the path
/// of the tokenizer; the rest are the subject's. Returns the exit status: 0, also where the
/// tokenizer was refused, loading failed (hello says so) or the reader has gone; 2 where no path
/// was given; 1 where stdin or stdout is closed.
inline int serve(int argc, char** argv, const Load& load) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s TOKENIZER_JSON [SUBJECT ARGUMENT...]\n",
                 argc > 0 ? argv[0] : "probe");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an end, not a crash of the subject
  const int in = detail::take_away(STDIN_FILENO, -1);
  const int out = detail::take_away(STDOUT_FILENO, STDERR_FILENO);
  if (in < 0 || out < 0) {
    std::fprintf(stderr, "%s: stdin or stdout is closed\n", argv[0]);
    return 1;
  }
  Subject subject;
  const char* outcome = nullptr;
  std::string message;
  const auto start = std::chrono::steady_clock::now();
  try {
    subject = load(argv[1], std::vector<std::string>(argv + 2, argv + argc));
    if (!subject.encode) {
      outcome = "error";
      message = "the subject has no encode";
    }
  } catch (const Unsupported& refusal) {
    outcome = "refused";
    message = refusal.what();
  } catch (const std::exception& error) {
    outcome = "error";
    message = error.what();
  } catch (...) {
    outcome = "error";
    message = "an exception that is no std::exception";
  }
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - start);
  if (!detail::write_all(out, detail::hello(subject, took, outcome, message))) return 0;
  if (outcome != nullptr) return 0;
  detail::LineReader requests(in);
  detail::Answerer answerer(subject);
  std::string_view line;
  while (requests.next(line)) {
    if (!detail::write_all(out, answerer.answer(line))) return 0;
  }
  return 0;
}

}  // namespace tokparity

#endif  // TOKPARITY_PROBE_HPP
