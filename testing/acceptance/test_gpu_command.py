# The command around GPUs, from outside, where there is none: missing drivers and compilers, bad
# names, shapes and files. Nothing crashes, each failure is one sentence with the right exit code,
# and no file is created or changed by what is refused.
import shutil
import unittest

from gpu_command import AMD, NOWHERE, NVIDIA, SMALL, TWO, GpuCommandTest

TARGETS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "gfx90a", "gfx942", "gfx1030", "gfx1101",
           "gfx1201")


class Devices(GpuCommandTest):
    def on_every_command(self, device):
        run, output = self.run_arguments(device)
        yield run
        yield ["verify", "--quick", "--op", "softmax.forward", "--device", device]
        yield ["bench", "--op", "softmax.forward", "--device", device]
        self.assertFalse(output.exists())

    def test_no_driver(self):
        for device, variable in (("cuda:0", "TOKITAI_CUDA_DRIVER"),
                                 ("amd:0", "TOKITAI_HIP_RUNTIME")):
            for arguments in self.on_every_command(device):
                with self.subTest(arguments=arguments):
                    self.check_failure(3, arguments, [device, NOWHERE, variable],
                                       **{variable: NOWHERE})

    def test_a_file_that_is_no_driver(self):
        garbage = self.folder / "libcuda.so.1"
        garbage.write_bytes(b"no library" * 100)
        for path in (garbage, self.folder, "/dev/null"):
            for arguments in self.on_every_command("cuda:0"):
                with self.subTest(path=path, arguments=arguments):
                    self.check_failure(3, arguments, ["cuda:0", path], TOKITAI_CUDA_DRIVER=path)

    def test_names_that_are_no_device(self):
        names = ("cuda:x", "cuda:-1", "cuda:99999999999", "cuda:", "cuda:0x", "cuda: 0", "cuda:0 ",
                 "cuda:0:0", "cuda", "amd:", "amd:x", "lockstep:", "lockstep:33", "lockstep:640",
                 "CUDA:0", "gpu:0", "")
        for name in names:
            for arguments in self.on_every_command(name):
                with self.subTest(arguments=arguments):
                    words = [] if name.startswith("lockstep") and arguments[0] == "bench" else [name]
                    self.check_failure((2, 3), arguments, words, TOKITAI_CUDA_DRIVER=NOWHERE)

    def test_devices_says_what_is_missing_and_why(self):
        missing = {"TOKITAI_CUDA_DRIVER": NOWHERE, "TOKITAI_HIP_RUNTIME": NOWHERE,
                   "TOKITAI_CXX": NOWHERE}
        listed = {entry["name"]: entry for entry in self.succeed_json("devices", "--json",
                                                                      **missing)}
        for name in ("cpu", "reference"):
            self.assertTrue(listed[name]["available"])
        shown = self.succeed("devices", **missing)
        for name, variable in (("cuda", "TOKITAI_CUDA_DRIVER"), ("amd", "TOKITAI_HIP_RUNTIME"),
                               ("lockstep", "TOKITAI_CXX")):
            self.assertFalse(listed[name]["available"])
            self.assertIn(variable, listed[name]["reason"])
            self.assertIn(variable, shown)

    def test_options_of_the_cpu_device(self):
        for device in ("cuda:0", "lockstep", "reference"):
            run, _ = self.run_arguments(device)
            for option in (["--threads", "2"], ["--isa", "avx2"]):
                with self.subTest(device=device, option=option):
                    self.check_failure(2, [*run, *option], ["cpu", device])

    def test_lockstep_is_not_timed(self):
        self.check_failure(2, ["bench", "--device", "lockstep"], ["lockstep"])


class Compilers(GpuCommandTest):
    def script(self, text):
        path = self.folder / "compiler"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def test_no_nvrtc(self):
        garbage = self.folder / "libnvrtc.so"
        garbage.write_bytes(b"\x7fELF and then nothing")
        for path in (NOWHERE, garbage, self.folder):
            for arguments in (["compile", *SMALL, "--target", NVIDIA],
                              ["compile", *SMALL, "--target", NVIDIA, "--emit", "ptx", "-o", "out"],
                              ["compile", *SMALL, "--target", NVIDIA, "--emit", "binary"],
                              ["compile", "--all", "--target", NVIDIA]):
                with self.subTest(path=path, arguments=arguments):
                    message = self.check_failure(3, arguments, [path, "TOKITAI_NVRTC"],
                                                 TOKITAI_NVRTC=path)
                    self.assertEqual(message.count("no compiler for NVIDIA"), 1, self.shown)

    def test_no_clang(self):
        programs = {NOWHERE: NOWHERE, self.folder: str(self.folder),
                    self.script("echo wrong >&2; exit 7"): "exit code 7"}
        for path, word in programs.items():
            for arguments in (["compile", *SMALL, "--target", AMD],
                              ["compile", *SMALL, "--target", AMD, "--emit", "asm", "-o", "out"]):
                with self.subTest(path=path, arguments=arguments):
                    self.check_failure(3, arguments, [word], TOKITAI_CLANG=path)

    def test_a_program_that_is_no_clang_or_an_old_one(self):
        for says in ("clang version 3.8.0", "cat (GNU coreutils) 9.1", ""):
            with self.subTest(says=says):
                self.check_failure(3, ["compile", *SMALL, "--target", AMD],
                                   ["clang 17 or later", says],
                                   TOKITAI_CLANG=self.script(f"echo '{says}'"))

    def test_no_host_compiler(self):
        run, output = self.run_arguments("lockstep")
        for arguments in (run, ["verify", "--device", "lockstep", "--problem",
                                "softmax.forward rows=2 cols=3"]):
            with self.subTest(arguments=arguments):
                self.check_failure(3, arguments, [NOWHERE, "TOKITAI_CXX"], TOKITAI_CXX=NOWHERE)
                self.check_failure(3, arguments, ["PATH"], PATH="")
        self.assertFalse(output.exists())

    def test_a_host_compiler_that_compiles_nothing(self):
        """It answers --version, and then lacks its library or itself."""
        verify = ["verify", "--device", "lockstep", "--problem", "softmax.forward rows=2 cols=3"]
        broken = self.script("[ \"$1\" = --version ] && echo a compiler && exit 0; echo no headers >&2; exit 1")
        self.check_failure(3, verify, ["does not compile an empty program"], lines=3, TOKITAI_CXX=broken)

    def test_what_could_not_be_compiled_was_not_run(self):
        if not shutil.which("g++"):
            self.skipTest("no C++ compiler")
        # It compiles what is empty and refuses a kernel.
        picky = self.script("[ \"$1\" != --version ] && [ -e machines ] && exit 1; exec g++ \"$@\"")
        result = self.command("verify", "--device", "lockstep", "--problem", "softmax.forward rows=2 cols=3",
                              TOKITAI_CXX=picky)
        self.assertEqual(result.returncode, 1, self.shown)
        self.assertIn("NOT RUN", result.stdout)
        self.assertNotIn("DIFFERS", result.stdout)

    def test_nothing_in_path(self):
        self.check_failure(3, ["compile", *SMALL, "--target", AMD], ["PATH", "clang"], PATH="")

    def test_json_without_a_compiler(self):
        result = self.command("compile", *SMALL, "--target", f"{NVIDIA},{AMD}", "--json", "-",
                              TOKITAI_NVRTC=NOWHERE, TOKITAI_CLANG=NOWHERE)
        self.assertEqual(result.returncode, 3, self.shown)
        for entry in self.parsed(result.stdout):
            self.assertEqual(entry["result"], "no compiler")
            self.assertIn(NOWHERE, entry["why"])
        for word in ("TOKITAI_NVRTC", "TOKITAI_CLANG"):
            self.assertIn(word, result.stderr)

    def test_lockstep_runs_without_a_gpu(self):
        if not any(map(shutil.which, ("c++", "g++", "clang++"))):
            self.skipTest("no C++ compiler")
        outputs = []
        for device in ("lockstep", "reference"):
            run, output = self.run_arguments(device)
            self.succeed(*run)
            outputs.append(output.read_bytes())
        self.assertEqual(*outputs)


class CompileUsage(GpuCommandTest):
    """What is wrong with the arguments is said before any compiler is asked: there is none."""

    def refused(self, *arguments, words=()):
        self.check_failure(2, ["compile", *arguments], words, TOKITAI_NVRTC=NOWHERE,
                           TOKITAI_CLANG=NOWHERE)
        self.assertFalse(self.cache.exists(), self.shown)

    def test_targets(self):
        for name in ("sm_99", "sm_90", "gfx9", "", "cuda:0", "SM_80", "host", "sm_80 "):
            with self.subTest(name):
                self.refused(*SMALL, "--target", name, words=[f"'{name}'", *TARGETS])
        self.refused("softmax.forward", words=["--target"])
        self.refused("softmax.forward", "--target", words=["--target"])

    def test_operators(self):
        for name in ("softmax", "softmax.sideways", "Softmax.forward", "softmax.forward "):
            with self.subTest(name):
                self.refused(name, "--target", NVIDIA, words=[f"'{name}'", "layernorm.backward"])
        self.refused("--target", NVIDIA, words=["operator"])
        self.refused("softmax.forward", "--all", words=["--all"])
        self.refused("softmax.forward", "gemm.forward", "--target", NVIDIA, words=["gemm.forward"])

    def test_shapes(self):
        shapes = {"rows=0 cols=5": "rows", "rows=-1 cols=5": "rows", "rows=3 cols=0": "cols",
                  "rows=3": "cols", "rows=three cols=5": "three", "rows=1.5 cols=5": "1.5",
                  "rows=99999999999999999999 cols=5": "99999999999999999999",
                  "rows=9223372036854775807 cols=2": "9223372036854775807",
                  "rows=3 cols=16777217": "16777217", "rows=3 cols": "cols", "depth=3": "depth",
                  "rows=3 cols=5 type=f8": "f8", "rows=3 cols=5 type=i32": "i32",
                  "rows=3 cols=5 data=strange": "strange", "rows=3 cols=5 pad=-9": "stride",
                  "rows=": "rows=", "=": "=", "=5": "=5", "rows=, cols=5": "rows="}
        for shape, word in shapes.items():
            for how in ([], ["--explain"]):
                with self.subTest(shape=shape, how=how):
                    self.refused("softmax.forward", "--target", NVIDIA, *how, "--shape",
                                 *shape.split(), words=[word])
        self.refused("adamw.step", "--target", NVIDIA, "--shape", "n=5", "t=0", words=["t"])
        self.refused("adamw.step", "--target", NVIDIA, "--shape", "n=5*0", "t=1", words=["5*0"])
        self.refused("--all", "--target", NVIDIA, "--shape", "rows=3", words=["--shape"])
        self.refused("softmax.forward", "--target", NVIDIA, "--shape", words=["--shape"])

    def test_options_that_do_not_go_together(self):
        self.refused(*SMALL, "--target", NVIDIA, "--emit", "asm", words=["asm", NVIDIA])
        self.refused(*SMALL, "--target", AMD, "--emit", "ptx", words=["ptx", AMD])
        self.refused(*SMALL, "--target", AMD, "--emit", "exe", words=["exe", "binary"])
        self.refused(*SMALL, "--target", f"{AMD},{NVIDIA}", "--emit", "plan", words=["--emit"])
        self.refused(*SMALL, "--target", NVIDIA, "-o", "out", words=["--emit"])
        self.refused(*SMALL, "--target", NVIDIA, "--emit", "ptx", "--json", "-", words=["--emit"])
        self.refused(*SMALL, "--target", NVIDIA, "--explain", "--json", "-", words=["--explain"])
        self.refused(*SMALL, "--target", NVIDIA, "--variant", "5", words=["variant"])
        self.refused(*SMALL, "--target", NVIDIA, "--variant", "-1", words=["variant"])
        self.refused(*TWO, "--target", NVIDIA, "--emit", "binary", words=["-o"])
        self.refused("softmax.forward", "--target", NVIDIA, "--emit", "binary", "-o", "out",
                     "--shape", "rows=3", "cols=4,5", words=["softmax_forward"])

    def test_files_that_cannot_be_written(self):
        (self.folder / "file").write_text("an earlier result")
        for path in ("/nonexistent/out", "file/out", self.folder, "/dev/null"):
            for option in (["--emit", "ptx", "-o", path], ["--json", path]):
                with self.subTest(option=option):
                    self.refused(*SMALL, "--target", NVIDIA, *option, words=[path])
        self.refused(*SMALL, "--target", NVIDIA, "--emit", "plan", "-o", "/proc/out",
                     words=["/proc/out"])  # looks writable to root, and is not

    def test_plans_need_no_compiler(self):
        variables = {"TOKITAI_NVRTC": NOWHERE, "TOKITAI_CLANG": NOWHERE, "PATH": ""}
        shown = self.succeed("compile", "--all", "--explain", **variables)
        for word in (*TARGETS, "layernorm_backward_columns", "gemm_grad_b", "adamw_step"):
            self.assertIn(word, shown)
        text = self.succeed("compile", *SMALL, "--target", AMD, "--emit", "plan", **variables)
        self.assertIn('#include "operators/softmax/definition.h"', text)
        self.succeed("compile", *SMALL, "--target", AMD, "--emit", "plan", "-o", "out", **variables)
        self.assertEqual((self.folder / "out").read_text(), text)
        self.assertFalse(self.cache.exists())


if __name__ == "__main__":
    unittest.main()
