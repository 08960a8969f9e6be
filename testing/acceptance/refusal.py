# What "refused" means, in one place: exit code 2, one clear message on standard error with the
# words asked for, no crash, and no file created or changed anywhere in the working folder.
import re

import oracle
from binary32 import F16
from harness import CommandTest, option_arguments

CRASHED = re.compile(r"traceback|terminate called|assert|segmentation|core dumped|runtime error"
                     r"|sanitizer|exception|std::", re.IGNORECASE)
PREVIOUS = b"what an earlier run left here"


def word(text):
    """A pattern for a name or number standing on its own (6x40 says 6 and 40)."""
    if isinstance(text, int):
        return rf"(?<!\d){text}(?!\d)"
    return rf"(?<![\w.]){re.escape(text)}(?!\w)"


def valid_problem(operator):
    """Operands, options and outputs of a small f16 problem that every device accepts."""
    operands, options = oracle.PROBLEMS[operator](oracle.Data())
    return operands, options, list(oracle.OPERATORS[operator](F16, operands, options))


class RefusalTest(CommandTest):
    def contents(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def check_refusal(self, arguments, patterns, **how):
        """Runs in the working folder; returns the message."""
        before = self.contents()
        result = self.command(*arguments, cwd=self.folder, **how)
        message = result.stderr.strip()
        shown = f"{' '.join(map(str, arguments))}\nexit {result.returncode}: {message[:2000]}"
        self.assertEqual(result.returncode, 2, shown)
        self.assertTrue(message, f"no message\n{shown}")
        self.assertLessEqual(len(message.splitlines()), 2, f"more than one message\n{shown}")
        self.assertIsNone(CRASHED.search(message), shown)
        for pattern in patterns:
            self.assertRegex(message, pattern, shown)
        after = self.contents()
        self.assertEqual(set(after), set(before), f"files appeared or vanished\n{shown}")
        changed = [path.name for path in before if after[path] != before[path]]
        self.assertEqual(changed, [], f"files changed\n{shown}")
        return message

    def check_refused(self, operator, patterns, operands=None, options=None, outputs=None,
                      extra=(), devices=("cpu",), **how):
        """A valid problem with these changes is refused, where outputs are new and where they
        exist. An operand or option changed to None is left out; outputs maps names to paths, by
        default of all that is worked on in place too."""
        usual, usual_options, usual_outputs = valid_problem(operator)
        chosen = {k: v for k, v in {**usual, **(operands or {})}.items() if v is not None}
        settings = {k: v for k, v in {**usual_options, **(options or {})}.items() if v is not None}
        if outputs is None:
            usual_outputs += [name for name in chosen if name == "master"]
            outputs = [(name, self.folder / f"out{i}.npy") for i, name in enumerate(usual_outputs)]
        written = [part for name, path in outputs for part in ("--out", f"{name}={path}")]
        arguments = ["run", operator, *self.save(chosen), *option_arguments(settings), *written,
                     *extra]
        places = [self.folder / path for _, path in outputs]
        creatable = [place for place in places if self.folder in place.parents
                     and place.parent.is_dir() and not place.is_dir()]
        for device in devices:
            for place in creatable:
                place.unlink(missing_ok=True)
            self.check_refusal([*arguments, "--device", device], patterns, **how)
            for place in creatable:
                place.write_bytes(PREVIOUS)
            self.check_refusal([*arguments, "--device", device], patterns, **how)
