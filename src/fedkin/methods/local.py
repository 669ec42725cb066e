"""Local training: every client alone, with the same total local steps. What every personal method must beat."""

from collections.abc import Mapping

from fedkin.core.method import Data, Info, Method, Needs, Reply, Server, Start
from fedkin.core.ops import scan
from fedkin.core.tree import Params, Tree
from fedkin.methods.fedavg import sgd_step


def local(*, lr: float) -> Method:
    """Each client trains its own model on its own data; nothing is sent.

    lr: learning rate of SGD. Batches and steps come from [train].

    Reading: in a round only the participants train, as in the other methods, so that the number of local steps is the
    same.
    """

    def work(down: Tree, own: Tree, data: Data) -> tuple[Tree, Tree]:
        return {"parameters": scan(sgd_step, own["parameters"], data.batches(), lr * data.decay)}, {}

    def client(initial: Params, info: Info) -> Tree:
        return {"parameters": initial}

    def server(start: Start) -> Tree:
        return {}

    def merge(state: Tree, replies: Mapping[int, Reply], server: Server) -> Tree:
        return state

    return Method(
        name="local",
        server=server,
        client=client,
        down=lambda state, client: {},
        local=work,
        expects=lambda down, info: {},
        merge=merge,
        personal=lambda down, own, data: {"personal": own["parameters"]},
        hyper={"lr": lr},
        needs=Needs(one_architecture=False),
    )
