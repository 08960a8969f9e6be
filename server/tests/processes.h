// What a test counts before and after: this process's descriptors, shared mappings, threads and children.
#pragma once
#include <dirent.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace tokitai::server {

inline std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> names;
  if (DIR* open = ::opendir(folder.c_str())) {
    while (const dirent* one = ::readdir(open))
      if (one->d_name[0] != '.') names.emplace_back(one->d_name);
    ::closedir(open);
  }
  return names;
}

inline std::vector<pid_t> children() {
  std::vector<pid_t> all;
  for (const std::string& thread : entries("/proc/self/task")) {
    std::ifstream list("/proc/self/task/" + thread + "/children");
    for (pid_t one = 0; list >> one;) all.push_back(one);
  }
  return all;
}

// 'R', 'S', 'T' (stopped), 'Z' (ended, not reaped); 0 where there is no such process.
inline char state_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return 0;
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string::npos ? '?' : text[name_end + 2];
}

// The thread sanitizer starts a thread of its own with the first one: that is there before anything is counted.
inline const bool kThreadWasStarted = [] {
  std::thread([] {}).join();
  return true;
}();

struct Held {
  std::size_t descriptors, threads, children, shared_mappings;
  bool operator==(const Held&) const = default;

  static Held now() {
    Held held{entries("/proc/self/fd").size(), entries("/proc/self/task").size(), server::children().size(), 0};
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      if (line.find("memfd:tokitai") != std::string::npos) ++held.shared_mappings;
    return held;
  }
  // What is held when as much is held as before; else what is held two seconds later: a thread that was joined stands
  // in /proc a little longer.
  static Held after(const Held& before) {
    for (int i = 0; i < 100 && now() != before; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return now();
  }
};

}  // namespace tokitai::server
