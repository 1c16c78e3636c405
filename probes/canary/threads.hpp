// Two threads at a time, through what C++ promises of atomics. An emulator on a strongly ordered
// host does not show weak ordering: a pass here says that nothing forbidden was seen, and no more.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "check.hpp"

namespace canary {

template <class T>
std::uint64_t read_modify_write() {
  std::atomic<T> cell{static_cast<T>(0x5A)};
  Fold fold;
  fold(cell.fetch_add(static_cast<T>(0xF0)));
  fold(cell.fetch_sub(static_cast<T>(0x4B)));
  fold(cell.fetch_and(static_cast<T>(0x3C)));
  fold(cell.fetch_or(static_cast<T>(0x81)));
  fold(cell.fetch_xor(static_cast<T>(0xFF)));
  fold(cell.exchange(static_cast<T>(0x77)));
  T wrong = static_cast<T>(0x76);
  fold(cell.compare_exchange_strong(wrong, static_cast<T>(1)) ? 1 : 0);
  fold(wrong);
  fold(cell.compare_exchange_strong(wrong, static_cast<T>(2)) ? 1 : 0);
  fold(cell.load());
  return fold.value();
}

// Adding, and adding with a loop of compare-and-swap, from two threads: no addition may be lost.
inline void additions() {
  constexpr std::uint32_t kRounds = 20000;
  std::atomic<std::uint64_t> added{0};
  std::atomic<std::uint32_t> swapped{0};
  std::atomic<std::uint8_t> narrow{0};
  std::uint64_t locked = 0;
  std::atomic_flag lock = ATOMIC_FLAG_INIT;
  const auto work = [&](std::uint32_t step) {
    for (std::uint32_t i = 0; i < kRounds; ++i) {
      added.fetch_add(step, std::memory_order_relaxed);
      std::uint32_t seen = swapped.load(std::memory_order_relaxed);
      while (!swapped.compare_exchange_weak(seen, seen + step, std::memory_order_relaxed)) {
      }
      narrow.fetch_add(1, std::memory_order_relaxed);
      if (i % 16 == 0) {
        while (lock.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
        ++locked;
        lock.clear(std::memory_order_release);
      }
    }
  };
  std::thread other(work, 3U);
  work(1U);
  other.join();
  check("atomic.fetch-add-two-threads", 4ULL * kRounds, added.load());
  check("atomic.compare-exchange-two-threads", 4ULL * kRounds, swapped.load());
  check("atomic.fetch-add-8-two-threads", 2U * kRounds % 256U, narrow.load());
  check("atomic.lock-two-threads", 2U * kRounds / 16U, locked);
}

// Message passing: who sees the number of a message sees the message, and every one before it.
inline void message_passing() {
  constexpr std::uint32_t kMessages = 20000;
  const auto payload = std::make_unique<std::array<std::uint32_t, kMessages + 1>>();
  std::atomic<std::uint32_t> published{0};
  std::thread writer([&] {
    for (std::uint32_t i = 1; i <= kMessages; ++i) {
      (*payload)[i] = i * 2654435761U;
      published.store(i, std::memory_order_release);
    }
  });
  std::uint64_t stale = 0;
  for (std::uint32_t last = 0; last < kMessages;) {
    const std::uint32_t now = published.load(std::memory_order_acquire);
    if (now == last) std::this_thread::yield();
    for (; last < now; ++last) stale += (*payload)[last + 1] != (last + 1) * 2654435761U ? 1U : 0U;
  }
  writer.join();
  check("memory.message-passing-stale", 0, stale);
}

// Store buffering: under sequential consistency two threads cannot both miss the other's store.
inline void store_buffering() {
  constexpr std::size_t kRounds = 5000;
  struct Round {
    std::atomic<std::uint32_t> x{0};
    std::atomic<std::uint32_t> y{0};
    std::uint32_t seen_by_first = 0;
    std::uint32_t seen_by_second = 0;
  };
  const auto rounds = std::make_unique<std::array<Round, kRounds>>();
  std::atomic<bool> go{false};
  std::thread second([&] {
    while (!go.load()) std::this_thread::yield();
    for (Round& round : *rounds) {
      round.y.store(1);
      round.seen_by_second = round.x.load();
    }
  });
  go.store(true);
  for (Round& round : *rounds) {
    round.x.store(1);
    round.seen_by_first = round.y.load();
  }
  second.join();
  std::uint64_t forbidden = 0;
  for (const Round& round : *rounds) {
    forbidden += round.seen_by_first == 0 && round.seen_by_second == 0 ? 1U : 0U;
  }
  check("memory.store-buffering-forbidden", 0, forbidden);
}

// What fetch_add and its kin leave, computed by hand for a width of `mask`.
inline std::uint64_t read_modify_write_expected(std::uint64_t mask) {
  const std::uint64_t added = (0x5AU + 0xF0U) & mask;
  const std::uint64_t subtracted = (added - 0x4BU) & mask;
  const std::uint64_t anded = subtracted & 0x3CU;
  const std::uint64_t ored = anded | 0x81U;
  return folded({0x5A, added, subtracted, anded, ored, ored ^ 0xFFU, 0, 0x77, 1, 2});
}

inline void threads() {
  check("atomic.width-8", read_modify_write_expected(0xFF), read_modify_write<std::uint8_t>());
  check("atomic.width-16", read_modify_write_expected(0xFFFF), read_modify_write<std::uint16_t>());
  check("atomic.width-32", read_modify_write_expected(0xFFFFFFFF),
        read_modify_write<std::uint32_t>());
  check("atomic.width-64", read_modify_write_expected(UINT64_MAX),
        read_modify_write<std::uint64_t>());
  additions();
  message_passing();
  store_buffering();
}

}  // namespace canary
