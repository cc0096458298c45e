"""Every shape of repository that people have, each with its rule."""

import os
import subprocess
import time

from tests.worktrees.conftest import exists


def test_a_sub_directory_of_a_monorepo(local):
    """--cwd below the root becomes the same folder of the tree."""
    local.commit("apps/web/x")

    agent = local.order(cwd=local.repo / "apps" / "web")

    assert agent["cwd"] == local.tree(agent)["path"] + "/apps/web"


def test_a_sub_directory_through_a_symlink(local):
    """A symlink to --cwd means the folder that it leads to."""
    local.commit("apps/web/x")
    (local.root / "short").symlink_to(local.repo / "apps")

    assert local.order(cwd=local.root / "short" / "web")["cwd"].endswith("/apps/web")


def test_a_folder_that_is_a_symlink_in_the_branch(local):
    """What the branch says of that folder is not followed out of the tree."""
    local.commit("apps/x")
    local.git("checkout", "-q", "-b", "evil")
    local.git("rm", "-rq", "apps")
    (local.repo / "apps").symlink_to("/etc")
    local.git("add", "-A")
    local.git("commit", "-qm", "evil")
    local.git("checkout", "-q", "main")

    assert "no folder 'apps'" in local.order("t", "--worktree", "evil", cwd=local.repo / "apps", code=1)
    assert [] == local.trees()


def test_inside_another_worktree(local):
    """The repository is the same one, and so is the place of the tree."""
    one = local.order("one")

    two = local.order("two", cwd=one["cwd"])

    assert os.path.dirname(one["cwd"]) == os.path.dirname(two["cwd"])
    assert local.tree(one)["repository"] == local.tree(two)["repository"]


def test_the_branch_of_the_worktree_one_stands_in_is_not_the_base(local):
    """A dispatch from a linked worktree starts from the default branch all the same."""
    one = local.order("one")
    local.commit("work", at=one["cwd"])

    two = local.order("two", cwd=one["cwd"])

    assert local.git("rev-parse", "main") == local.git("rev-parse", "HEAD", at=two["cwd"])


def test_a_bare_repository_with_worktrees_beside_it(local):
    """From a worktree, from the bare repository, and from the folder whose `.git` file names it."""
    yard = local.root / "yard"
    yard.mkdir()
    local.git("clone", "-q", "--bare", str(local.repo), str(yard / ".bare"))
    (yard / ".git").write_text("gitdir: ./.bare\n")
    local.git("worktree", "add", "-q", str(yard / "main"), "main", at=yard)

    agents = [local.order(f"t{n}", cwd=place) for n, place in enumerate((yard / "main", yard / ".bare", yard))]

    assert {str(yard / ".bare")} == {local.tree(a)["repository"] for a in agents}
    assert 1 == len({os.path.dirname(a["cwd"]) for a in agents})
    assert "/yard-" in agents[0]["cwd"]
    for n in range(3):
        local.stop(f"t{n}")
    assert ["main"] == local.branches(at=yard)


def test_a_bare_repository_reads_the_set_up_of_the_commit(local):
    """Without a checkout to look into, `.fleet/worktree.yaml` is the commit's, and files to copy are said to be missed."""
    local.recipe('copy: [".env"]\nsetup: "echo hi > made"')
    local.commit("f")
    local.git("clone", "-q", "--bare", str(local.repo), str(local.root / "b.git"))

    said = local.order(cwd=local.root / "b.git", code=1)
    assert ".fleet/worktree.yaml of commit" in said
    agent = local.order("t", "--trust-setup", cwd=local.root / "b.git")

    assert exists(agent["cwd"] + "/made")
    assert "nothing was copied or linked" in local.said


def test_a_sparse_checkout(local):
    """The tree is as sparse as the checkout that --cwd lies in, and clean."""
    for folder in ("a", "b"):
        local.commit(f"{folder}/x")
    local.git("sparse-checkout", "set", "a")

    agent = local.order(cwd=local.repo / "a")

    path = local.tree(agent)["path"]
    assert exists(path + "/a/x")
    assert not exists(path + "/b")
    assert None is local.row("fleet/t")["dirty"]
    local.stop()
    assert not exists(path)


def test_a_sparse_checkout_without_the_folder(local):
    """A --cwd that the sparse tree would not have is refused, and nothing stays."""
    for folder in ("a", "b"):
        local.commit(f"{folder}/x")
    local.git("sparse-checkout", "set", "a")
    (local.repo / "b").mkdir()

    assert "no folder 'b' in the worktree" in local.order(cwd=local.repo / "b", code=1)
    assert [] == local.trees()


def library(ground, name="lib"):
    """A repository to be a submodule."""
    place = ground.root / name
    ground.git("init", "-q", str(place))
    ground.commit("code", at=place)
    return place


def test_submodules(local):
    """Those that the main checkout uses are there, with their own remote; the tree is clean and can be removed."""
    lib = library(local)
    local.git("submodule", "--quiet", "add", str(lib), "vendor/lib")
    local.git("commit", "-qm", "sub")

    agent = local.order()

    assert exists(agent["cwd"] + "/vendor/lib/code")
    assert str(lib) == local.git("remote", "get-url", "origin", at=agent["cwd"] + "/vendor/lib")
    assert None is local.row("fleet/t")["dirty"]
    local.stop()
    assert [] == local.trees()


def test_submodules_without_their_remote(local):
    """They come from the main checkout's copies: no network is needed."""
    lib = library(local)
    local.git("submodule", "--quiet", "add", str(lib), "lib")
    local.git("commit", "-qm", "sub")
    lib.rename(local.root / "gone")

    assert exists(local.order()["cwd"] + "/lib/code")


def test_submodules_of_submodules(local):
    """They come along too."""
    inner, outer = library(local, "inner"), library(local, "outer")
    local.git("submodule", "--quiet", "add", str(inner), "in", at=outer)
    local.git("commit", "-qm", "in", at=outer)
    local.git("submodule", "--quiet", "add", str(outer), "out")
    local.git("submodule", "--quiet", "update", "--init", "--recursive")
    local.git("commit", "-qm", "out")

    assert exists(local.order()["cwd"] + "/out/in/code")


def test_submodules_that_the_main_checkout_does_not_use(local):
    """They stay empty, as there."""
    lib = library(local)
    local.git("submodule", "--quiet", "add", str(lib), "lib")
    local.git("commit", "-qm", "sub")
    local.git("submodule", "--quiet", "deinit", "-f", "lib")

    assert [] == os.listdir(local.order()["cwd"] + "/lib")


def test_a_submodule_whose_commit_cannot_be_had(local):
    """The dispatch is refused and everything is taken back; a setting leaves submodules empty."""
    lib = library(local)
    local.git("submodule", "--quiet", "add", str(lib), "lib")
    local.git("commit", "-qm", "sub")
    local.git("update-index", "--cacheinfo", f"160000,{'1' * 40},lib")
    local.git("commit", "-qm", "broken")

    local.order(code=1)
    assert ([], ["main"]) == (local.trees(), local.branches())
    local.config("worktree: {submodules: false}\n")
    local.order()


def test_commits_in_a_submodule_keep_the_tree(local):
    """They live in the tree's own copy and would go with it."""
    lib = library(local)
    local.git("submodule", "--quiet", "add", str(lib), "lib")
    local.git("commit", "-qm", "sub")
    agent = local.order()
    local.commit("more", at=agent["cwd"] + "/lib")
    local.git("checkout", "-q", "-b", "kept", at=agent["cwd"] + "/lib")
    local.git("checkout", "-q", "--detach", "HEAD~1", at=agent["cwd"] + "/lib")

    said = local.stop(code=1)

    assert "commits in submodule lib that its remote does not have" in said
    assert exists(agent["cwd"])


def test_inside_a_submodule(local):
    """The tree is the submodule's own, and that is said."""
    lib = library(local)
    local.git("submodule", "--quiet", "add", str(lib), "lib")
    local.git("commit", "-qm", "sub")

    agent = local.order(cwd=local.repo / "lib")

    assert str(local.repo / ".git" / "modules" / "lib") == local.tree(agent)["repository"]
    assert exists(agent["cwd"] + "/code")
    assert "is a submodule of" in local.said
    assert agent["cwd"] == local.git("rev-parse", "--show-toplevel", at=agent["cwd"])
    local.stop()
    assert not exists(agent["cwd"])


def test_a_repository_with_100_000_files(ground):
    """Made, listed and removed in seconds."""
    ground.git("init", "-q")
    blob = "blob\nmark :1\ndata 2\nx\n\ncommit refs/heads/main\ncommitter n <e@x> 1700000000 +0000\ndata 1\nm\n"
    files = "".join(f"M 100644 :1 d{n // 1000}/e{n // 100 % 10}/f{n}\n" for n in range(100_000))
    subprocess.run(
        ["git", "-C", str(ground.repo), "fast-import", "--quiet"],
        input=blob + files,
        text=True,
        check=True,
        env=ground.env,
    )
    ground.git("symbolic-ref", "HEAD", "refs/heads/main")
    start = time.monotonic()

    agent = ground.order(cwd=ground.repo)
    assert 100 == len(os.listdir(agent["cwd"] + "/d7/e3"))
    assert None is ground.row("fleet/t")["dirty"]
    ground.stop()

    assert not exists(agent["cwd"])
    assert time.monotonic() - start < 50
