"""The programs that reach the network, change the machine, or write what their arguments name."""

from typing import Final

NETWORK: Final = """
curl; wget; aria2c; http; https; xh; ssh; scp; sftp; rsync; ftp; lftp; tftp; telnet; nc; ncat; netcat; socat;
ping; ping6; traceroute; nslookup; dig; host; whois; nmap; mosh; autossh; sshfs; openssl s_client; gh; glab;
hub; aws; gcloud; gsutil; az; kubectl; helm; terraform; pulumi; ansible; ansible-playbook; heroku; vercel;
netlify; fly; flyctl; wrangler; firebase; git push; git fetch; git pull; git clone; git ls-remote; git remote
update; git remote show; git submodule update; git submodule add; git lfs fetch; git lfs pull; git lfs push; git
send-email; git svn; svn; hg push; hg pull; hg clone; pip install; pip download; pip index; pip search; pip3
install; pip3 download; pipx install; pipx run; python -m pip; python3 -m pip; uv sync; uv add; uv lock; uv pip;
uv tool; uvx; poetry install; poetry add; poetry update; poetry lock; poetry publish; pdm install; pdm add;
conda install; conda create; conda update; mamba; twine; hatch publish; npm install; npm i; npm ci; npm add; npm
update; npm publish; npm view; npm audit; npm login; npx; yarn; pnpm install; pnpm i; pnpm add; pnpm update;
pnpm dlx; bun install; bun add; bunx; deno install; corepack; gem install; gem push; bundle install; bundle
update; cargo install; cargo add; cargo fetch; cargo update; cargo publish; cargo search; go get; go install; go
mod download; go mod tidy; composer install; composer require; composer update; brew; apt; apt-get; apk; dnf;
yum; zypper; pacman; snap; flatpak; port; nix; nix-env; nix-shell; docker pull; docker push; docker run; docker
build; docker login; docker compose; docker-compose; podman pull; podman push; podman run; podman build; mail;
sendmail; mutt; msmtp; irssi
"""
"""Programs that reach the network, with the words of the arguments that make them."""
MACHINE: Final = """
sudo; doas; su; runuser; pkexec; chroot; crontab; at; batch; systemctl; service; launchctl; loginctl; mount;
umount; mkfs; fdisk; parted; useradd; userdel; usermod; groupadd; passwd; chsh; visudo; sysctl; iptables; nft;
ufw; modprobe; insmod; reboot; shutdown; poweroff; halt; kexec; defaults write; dscl; git config --global; git
config --system; npm link; npm root; pip uninstall; pip3 uninstall; cargo uninstall; docker rm; docker rmi;
docker volume; docker system; ssh-keygen; ssh-add; gpg; update-alternatives; ldconfig; dpkg; rpm; xdg-mime;
gsettings; dconf
"""
"""Programs that change the machine, wherever they are called."""
ALL_OPERANDS: Final = frozenset(
    """
    rm rmdir mkdir touch unlink shred truncate tee mv mkfifo mknod chmod chown chgrp chattr setfacl trash rename
    fallocate
    """.split()  # noqa: SIM905  one line a name would hide the list
)
"""Programs that change all that they are given."""
WITH_MODE: Final = frozenset(["chmod", "chown", "chgrp"])
"""Those of them whose first one is a mode or an owner."""
LAST_OPERAND: Final = frozenset(["cp", "ln", "install", "link"])
"""Programs that write the last one that they are given."""
TARGET_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "cp": ("-t", "--target-directory"),
    "mv": ("-t", "--target-directory"),
    "ln": ("-t", "--target-directory"),
    "install": ("-t", "--target-directory"),
    "tar": ("-C", "--directory", "-f", "--file"),
    "unzip": ("-d",),
    "7z": ("-o",),
    "git": ("-C", "--git-dir", "--work-tree"),
    "make": ("-C", "--directory"),
    "cmake": ("-B", "--install-prefix"),
    "ninja": ("-C",),
    "npm": ("--prefix",),
    "patch": ("-d", "--directory", "-o", "--output"),
    "sort": ("-o", "--output"),
    "mktemp": ("-p", "--tmpdir"),
}
"""The options of programs that name a place where they write."""
OUTPUT_OPTIONS: Final = ("-o", "--output", "--out", "--output-dir", "--outdir", "--output-file", "--log-file")
"""The options that do so of programs without options of their own here."""
