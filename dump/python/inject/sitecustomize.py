"""Python imports this at its start, because `msdbg dump` puts this folder in front of PYTHONPATH.

It makes `import msdbg` find the package that belongs to that msdbg, lets msdbg._start wait for torch, and
goes on to the sitecustomize that Python would have imported without it. Every Python that a recorded program
starts runs this, whatever its version: no annotations, no f-strings.
"""
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_OLDEST = (3, 9)


def _package():
    """msdbg's folder: beside this one in a build or an installation; in a wheel this one lies in it."""
    above = os.path.dirname(_HERE)
    return above if os.path.exists(os.path.join(above, "_start.py")) else os.path.join(above, "msdbg")


class _PackageFinder(object):
    """Finds `msdbg` and nothing else: no other package gets on sys.path with it."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "msdbg":
            return None
        from importlib.util import spec_from_file_location
        folder = _package()
        return spec_from_file_location(name, os.path.join(folder, "__init__.py"),
                                       submodule_search_locations=[folder])


def _start():
    if not os.environ.get("MSDBG_DUMP") or "msdbg._start" in sys.modules:  # or a wheel's .pth file was first
        return
    if sys.version_info < _OLDEST:
        return _say_too_old()
    sys.meta_path.insert(0, _PackageFinder)
    from msdbg import _start
    _start.start()


def _say_too_old():
    """As msdbg._notes would, which this Python cannot read."""
    run = os.environ["MSDBG_DUMP"]
    if os.environ.get("MSDBG_RUN_INFO") != "launcher" or not os.path.isdir(run):
        return
    text = "Python %d.%d is too old to be recorded (%d.%d or newer)" % (sys.version_info[:2] + _OLDEST)
    with open(os.path.join(run, "python_notes"), "a") as notes:
        notes.write('{"pid": %d, "event": "reason", "text": "%s"}\n' % (os.getpid(), text))


def _run_next():
    """What comes after this folder on sys.path is imported in place of this module."""
    sys.path[:] = [path for path in sys.path if os.path.realpath(path or ".") != os.path.realpath(_HERE)]
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec
    spec = PathFinder.find_spec(__name__, sys.path)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules[__name__] = module
    spec.loader.exec_module(module)  # what it raises Python reports, as it would without us


if sys.version_info >= (3, 5):
    try:
        _start()
    except Exception as error:  # a program is never ended because it cannot be recorded
        sys.stderr.write("msdbg: warning: this Python is not recorded: %r\n" % (error,))
    _run_next()
