"""A small project and questions about it. `measure.py` beside this asks real ones, which it has to download."""

import json
from pathlib import Path

import pytest
from code_questions import asked

pytestmark = pytest.mark.anyio

PROJECT = {
    "CHANGELOG.md": (
        "# Changelog\n\n"
        "- Payments are refunded when an order is cancelled, and the mail is sent again after a failure.\n"
        "- The session cookie is signed; expired sessions are removed; the configuration file is read once.\n"
        "- The stock of a product is reserved while the customer pays.\n"
    ),
    "docs/guide.md": (
        "# Guide\n\nWhere payments are refunded: when an order is cancelled, the payment is refunded.\n"
        "The session cookie is signed with a key. A mail that failed is sent again.\n"
        "Stock is reserved while the customer pays. The configuration file is read when the shop starts.\n"
    ),
    "examples/refund.py": '"""Refund a payment of a cancelled order."""\n\nprint("refund payment of order")\n',
    "shop/payments.py": (
        '"""Money in and out."""\n\n\n'
        "class Ledger:\n"
        '    """Every amount that was paid or given back."""\n\n'
        "    def refund_payment(self, order):\n"
        '        """Give back what was paid for an order that was cancelled."""\n'
        "        self.entries.append(-order.paid)\n\n"
        "    def capture(self, order, amount):\n"
        "        self.entries.append(amount)\n"
    ),
    "shop/sessions.py": (
        '"""Who is logged in."""\n\n\n'
        "def sign_cookie(value, key):\n"
        "    digest = hmac_of(value, key)\n"
        '    return f"{value}.{digest}"\n\n\n'
        "def drop_expired(sessions, now):\n"
        "    return {name: session for name, session in sessions.items() if session.expires > now}\n"
    ),
    "shop/mail.py": (
        "MAX_ATTEMPTS = 5\n\n\n"
        "def send_again(message, error):\n"
        '    """Put a mail that could not be delivered back in the queue, later each time."""\n'
        "    message.attempts += 1\n"
        "    delay = 2**message.attempts\n"
        "    queue.put(message, delay)\n"
    ),
    "shop/settings.py": (
        "def read_cfg(path):\n    with open(path) as file:\n        return parse(file.read())\n\n\n"
        "def env_override(cfg, env):\n    return {**cfg, **env}\n"
    ),
    "shop/stock.py": (
        "class Stock:\n"
        "    def reserve(self, product, count):\n"
        '        """Keep so many of a product aside while a customer pays."""\n'
        "        self.reserved[product] += count\n"
    ),
    "tests/test_payments.py": "def test_payment_of_cancelled_order_is_refunded():\n    assert refunded(order)\n",
    "tests/test_stock.py": "def test_stock_of_a_product_is_reserved():\n    assert Stock().reserve('x', 1)\n",
}
QUESTIONS = {
    "Where is a payment refunded when an order is cancelled?": "shop/payments.py Ledger.refund_payment",
    "Where is the session cookie signed?": "shop/sessions.py sign_cookie",
    "How are expired sessions removed?": "shop/sessions.py drop_expired",
    "Where is a mail sent again after a failure?": "shop/mail.py send_again",
    "Where is the configuration file read?": "shop/settings.py read_cfg",
    "Which code lets the environment override the configuration?": "shop/settings.py env_override",
    "Where is the stock of a product reserved?": "shop/stock.py Stock.reserve",
    "what is the maximum number of attempts": "shop/mail.py MAX_ATTEMPTS",
    "Which test covers reserved stock?": "tests/test_stock.py test_stock_of_a_product_is_reserved",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # pydantic-ai runs on nothing else


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for path, text in PROJECT.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


@pytest.mark.sample(3)
@pytest.mark.parametrize(("question", "answer"), QUESTIONS.items())
async def test_the_first_place_answers_the_question(project, question, answer):
    told = await asked(project, question, [answer])
    assert told.places[0] == answer


def test_the_questions_about_real_projects_are_many_and_each_has_an_answer():
    known = json.loads((Path(__file__).parent / "questions.json").read_text())
    assert len(known["questions"]) >= 30
    assert len({question["ask"] for question in known["questions"]}) == len(known["questions"])
    assert len(known["projects"]) == 5
    for question in known["questions"]:
        assert question["project"] in known["projects"]
        assert all(len(answer.split(" ")) == 2 for answer in question["answers"])
        assert question["answers"]
