import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bubblewrapHere } from '../../src/tools/workspace/sandbox.ts';
import { EscapeScene } from './escape-scene.ts';

const found = await bubblewrapHere();
const reason = 'problem' in found ? found.problem : '';

/** Ways past a list: each runs the payload, which must get nowhere. From GuardFall, GTFOBins and reports about agents. */
const RUNS: Record<string, string> = {
  plain: './p.sh',
  'quotes in the name': `./p'.s'h`,
  'a backslash': './p\\.sh',
  'ANSI-C quotes': `$'\\x2e/p.sh'`,
  'empty quotes': `.""/p.sh`,
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own.
  $IFS: 'sh${IFS}p.sh',
  'a brace list': '{sh,./p.sh}',
  'a glob': '/workspace/p.s?',
  'a class of characters': './[p].sh',
  'a variable': 'x=p; ./$x.sh',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own.
  'a default value': '${nothing:-./p.sh}',
  'a substitution': '$(echo ./p.sh)',
  backticks: '`echo ./p.sh`',
  'an assignment': 'X=`./p.sh`; echo "$X"',
  'a process substitution': 'cat <(./p.sh)',
  eval: 'eval "./p.sh"',
  'a reversed line': 'eval "$(echo hs.p/. | rev)"',
  base64: 'echo Li9wLnNo | base64 -d | sh',
  'printf octal': `printf '\\056/p.sh' | sh`,
  tr: 'echo -/p-sh | tr - . | sh',
  'a here document': 'sh <<X\n./p.sh\nX',
  'a here string': 'sh <<< ./p.sh',
  'a pipe': 'cat p.sh | bash',
  'after a semicolon': 'true; ./p.sh',
  'after a newline': 'true\n./p.sh',
  'in the background': './p.sh & wait',
  'an alias': 'shopt -s expand_aliases\nalias ls=./p.sh\nls',
  'a function': 'ls() { ./p.sh; }; ls',
  source: '. ./p.sh',
  command: 'command ./p.sh',
  exec: 'exec ./p.sh',
  'a trap': 'trap ./p.sh EXIT',
  PROMPT_COMMAND: 'PROMPT_COMMAND=./p.sh bash --norc -i < /dev/null',
  BASH_ENV: 'BASH_ENV=./p.sh bash -c true',
  env: 'env ./p.sh',
  'env -S': "env -S './p.sh x'",
  xargs: 'echo ./p.sh | xargs sh',
  nohup: 'nohup ./p.sh < /dev/null; cat nohup.out',
  nice: 'nice ./p.sh',
  timeout: 'timeout 9 ./p.sh',
  setsid: 'setsid -w ./p.sh',
  script: 'script -qc ./p.sh /dev/null',
  'the loader': '/lib64/ld-linux-x86-64.so.2 /bin/sh p.sh',
  'find -exec': 'find . -name p.sh -exec {} \\;',
  'find -execdir': 'find . -name p.sh -execdir sh {} \\;',
  awk: `awk 'BEGIN { system("./p.sh") }'`,
  'sed e': `sed '1e ./p.sh' p.sh`,
  'tar checkpoint': 'tar cf /dev/null p.sh --checkpoint=1 --checkpoint-action=exec=./p.sh',
  'tar to-command': 'tar cf a.tar p.sh && tar xf a.tar --to-command=./p.sh',
  'git pager': 'git init -q . && git -c core.pager=./p.sh -p log; git -p -c core.pager=./p.sh help -a',
  'git alias': "git -c alias.x='!./p.sh' x",
  'git hook':
    'git init -q .; cp p.sh .git/hooks/post-commit; git -c user.name=a -c user.email=b commit -q --allow-empty -m x',
  'git editor': 'git init -q .; GIT_EDITOR=./p.sh git -c user.name=a -c user.email=b commit --allow-empty',
  'git ssh': 'GIT_SSH_COMMAND=./p.sh git clone ssh://x/y',
  'git ext': 'git -c protocol.ext.allow=always clone "ext::./p.sh" x',
  'git fsmonitor': 'git init -q .; git -c core.fsmonitor=./p.sh status',
  'ssh proxy command': 'ssh -o ProxyCommand=./p.sh x',
  make: "printf 'x:\\n\\t./p.sh\\n' > Makefile; make",
  python: `python3 -c 'import os; os.system("./p.sh")'`,
  'python subprocess': `python3 -c 'import subprocess; subprocess.run(["./p.sh"])'`,
  perl: `perl -e 'exec "./p.sh"'`,
  node: `node -e 'require("child_process").spawnSync("./p.sh", { stdio: "inherit" })'`,
  'split --filter': 'split --filter=./p.sh p.sh',
  'sort --compress-program': 'seq 200000 > n; sort -S 1K --compress-program=./p.sh n > /dev/null',
  'rsync -e': 'rsync -e ./p.sh x:y .',
  'rg --pre': 'rg --pre ./p.sh x p.sh',
  'openssl engine': 'openssl req -engine ./p.so; ./p.sh',
  LD_PRELOAD: 'LD_PRELOAD=/workspace/p.sh ./p.sh',
  'a copied shell': 'cp /bin/sh x; ./x p.sh',
  'a program in memory': `python3 -c 'import os; f=os.memfd_create("x"); os.write(f, open("/bin/sh","rb").read()); os.execv(f"/proc/self/fd/{f}", ["sh", "p.sh"])'`,
};

/** Ways out of the wall itself. None may say ESCAPED, and the secret is nowhere. */
const OUT: Record<string, string> = {
  "the worker's environment": 'tr "\\0" "\\n" < /proc/$WORKER/environ; cat /proc/*/environ',
  'own environment':
    'cat /proc/self/environ; cat /proc/1/environ; printenv HOLDFAST_TEST_CANARY && echo ESCAPED',
  'the root of other processes':
    'cat /proc/1/root$OUT/secret /proc/$WORKER/root$OUT/secret /proc/$PPID/root$OUT/secret',
  'the folder of other processes': 'ls /proc/$WORKER/cwd /proc/$WORKER/fd && echo ESCAPED',
  'memory of the worker': "python3 -c \"import os; open('/proc/$WORKER/mem','rb')\" && echo ESCAPED",
  'ptrace of the first process': `python3 -c 'import ctypes,os,sys; sys.exit(ctypes.CDLL(None).ptrace(16, int(os.environ["WORKER"]), 0, 0))' && echo ESCAPED`,
  'a signal to the worker': 'kill -0 $WORKER && echo ESCAPED; kill -9 $WORKER',
  'signals to all': 'kill -9 -1',
  'a link in the root': 'ln -s $OUT/secret l; cat l; echo x > l; ln -s $OUT d; touch d/$MARK; cat d/secret',
  'a hard link': 'ln $OUT/secret h && echo ESCAPED; ln /usr/bin/env h && echo ESCAPED',
  dots: 'cat ../../../..$OUT/secret; touch ../$MARK && echo ESCAPED',
  'a link that is swapped':
    'mkdir d; for i in 1 2 3 4 5 6 7 8 9; do ln -sfn $OUT d/x; touch d/x/$MARK; rm d/x; mkdir d/x; rmdir d/x; done',
  'open files of the wall':
    'for f in /proc/self/fd/* /proc/1/fd/*; do ls "$f/" 2>/dev/null | grep -q secret && echo ESCAPED; done',
  'the home folder': 'echo x >> ~root/.bashrc && echo ESCAPED; ls -A /root /home/* | grep . && echo ESCAPED',
  passwords: 'cat /etc/shadow && echo ESCAPED; echo x:0:0 >> /etc/passwd && echo ESCAPED',
  'system programs':
    'cp p.sh /usr/bin/$MARK && echo ESCAPED; echo > /usr/bin/env && echo ESCAPED; rm -f /usr/bin/env && echo ESCAPED',
  'times and rights of system files':
    'touch -c /usr/bin/env && echo ESCAPED; chmod u+s /usr/bin/env && echo ESCAPED',
  devices:
    'chmod 600 /dev/null && echo ESCAPED; ls /dev/mem /dev/kmem /dev/sd* /dev/vd* /dev/kvm && echo ESCAPED',
  'a device of its own': 'mknod d b 254 0 && echo ESCAPED; mknod m c 1 1 && echo ESCAPED',
  // They are opened and not written: nothing would take that back.
  'settings of the kernel':
    '(exec 3>> /proc/sys/kernel/core_pattern) && echo ESCAPED; (exec 3>> /proc/sysrq-trigger) && echo ESCAPED',
  'settings of other processes':
    '(exec 3>> /proc/1/oom_score_adj) && echo ESCAPED; (exec 3> /proc/self/uid_map) && echo ESCAPED',
  cgroups: 'mkdir /sys/fs/cgroup/$MARK && echo ESCAPED; ls /sys/fs/cgroup/* && echo ESCAPED',
  'the kernel log':
    'dmesg && echo ESCAPED; head -c 1 /proc/kmsg && echo ESCAPED; head -c 1 /proc/kcore && echo ESCAPED',
  'a mount':
    'mount -t tmpfs x /mnt && echo ESCAPED; mount --bind / /workspace && echo ESCAPED; mount -o remount,rw / && echo ESCAPED',
  'an unmount':
    'umount /workspace && echo ESCAPED; umount -l /tmp && echo ESCAPED; umount /proc && echo ESCAPED',
  'namespaces of its own':
    'unshare -U true && echo ESCAPED; unshare -Ur mount -t tmpfs x /mnt && echo ESCAPED; unshare -m true && echo ESCAPED',
  'namespaces of others':
    'nsenter -t 1 -m -u -n true && echo ESCAPED; nsenter -t $WORKER -a true && echo ESCAPED',
  'another root': 'chroot / true && echo ESCAPED; mkdir r; pivot_root . r && echo ESCAPED',
  'another user':
    'su -c true && echo ESCAPED; sudo -n true && echo ESCAPED; python3 -c "import os; os.setuid(0)" && echo ESCAPED',
  'a program with more rights': 'cp /bin/sh s; chmod 4755 s; ./s -p -c "echo > /etc/$MARK" && echo ESCAPED',
  'a wall in the wall': 'bwrap --bind / / true && echo ESCAPED',
  'modules and programs of the kernel':
    'modprobe dummy && echo ESCAPED; bpftool prog && echo ESCAPED; insmod x.ko && echo ESCAPED',
  'the name of the machine':
    'hostname $MARK && hostname | grep -q $MARK && echo ESCAPED; date -s 2001-01-01 && echo ESCAPED',
  'the terminal': `python3 -c 'import fcntl,os; f=os.open("/dev/tty", os.O_RDWR); fcntl.ioctl(f, 0x5412, b"x"); print("ESC"+"APED")'`,
  'shared memory of others': 'ipcs -m | grep 0x && echo ESCAPED; ls -A /dev/shm | grep . && echo ESCAPED',
  'TCP by bash': 'exec 3<>/dev/tcp/127.0.0.1/$PORT && echo ESCAPED',
  'TCP by curl':
    'curl -sm 2 http://127.0.0.1:$PORT && echo ESCAPED; curl -sm 2 http://localhost:$PORT && echo ESCAPED; curl -sm 2 "http://[::1]:$PORT" && echo ESCAPED',
  'TCP to the address of the machine':
    'curl -sm 2 http://$LAN:$PORT && echo ESCAPED; exec 3<>/dev/tcp/$LAN/$PORT && echo ESCAPED',
  'TCP by python': `python3 -c 'import os,socket; socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 2)' && echo ESCAPED`,
  'TCP by node': `node -e 'fetch("http://127.0.0.1:"+process.env.PORT).then(()=>console.log("ESC"+"APED"),()=>0)'`,
  'TCP by git': 'GIT_TERMINAL_PROMPT=0 timeout 3 git clone -q http://127.0.0.1:$PORT/x && echo ESCAPED',
  'TCP by openssl': 'timeout 3 openssl s_client -connect $LAN:$PORT < /dev/null && echo ESCAPED',
  'TCP by socat': 'echo x | timeout 3 socat - TCP:127.0.0.1:$PORT && echo ESCAPED',
  UDP: `echo x > /dev/udp/127.0.0.1/$UDP; echo x > /dev/udp/$LAN/$UDP; echo x | socat - UDP:$LAN:$UDP`,
  'a name':
    'getent hosts example.com && echo ESCAPED; getent ahosts registry.npmjs.org && echo ESCAPED; nslookup example.com && echo ESCAPED',
  'the metadata of a cloud': 'curl -sm 2 http://169.254.169.254/latest/meta-data && echo ESCAPED',
  'a raw packet': `ping -c 1 -W 1 $LAN && echo ESCAPED; python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)' && echo ESCAPED`,
  'a route of its own':
    'ip link add x type dummy && echo ESCAPED; ip route add default via 127.0.0.1 && echo ESCAPED',
  'a socket by its path':
    'socat - UNIX-CONNECT:$SOCKET < /dev/null && echo ESCAPED; curl -sm 2 --unix-socket $SOCKET http://x && echo ESCAPED',
  'a socket without a path': 'socat - ABSTRACT-CONNECT:$ABSTRACT < /dev/null && echo ESCAPED',
  'sockets of services':
    'ls /var/run/docker.sock /run/docker.sock /run/dbus /run/systemd /tmp/ssh-* /run/user && echo ESCAPED',
  'a listener of its own': 'timeout 1 socat TCP-LISTEN:$PORT,fork - & sleep 0.3; true',
  'what is left running':
    'setsid sh -c "sleep 60; echo $MARK" & nohup sh -c "sleep 60; echo $MARK" & (sh -c "sleep 60; echo $MARK" &) ; true',
  'what runs later':
    'echo "* * * * * touch $OUT/$MARK" | crontab - && echo ESCAPED; echo ./p.sh | at now && echo ESCAPED',
};

/** Ways to take all that the machine has. */
const GREEDY: Record<string, [string, RegExp | undefined]> = {
  'a fork bomb': [':(){ :|:& };:', undefined],
  'processes that wait': ['for i in $(seq 500); do sleep 30 & done; wait', undefined],
  threads: [
    `python3 -c 'import threading,time\nfor i in range(500): threading.Thread(target=time.sleep,args=(30,),daemon=True).start()'`,
    undefined,
  ],
  'memory of one': [`python3 -c 'x=[]\nwhile True: x.append(bytearray(10**7))'`, /memory/],
  'memory of many': [
    `for i in $(seq 12); do python3 -c 'import time; x=bytearray(10**8); time.sleep(30)' & done; wait`,
    /memory/,
  ],
  'one large file': ['head -c 1000000000 /dev/zero > x; ls -l x', undefined],
  'many files': ['for i in $(seq 400); do head -c 4000000 /dev/zero > x$i; done; sleep 5', /disk/],
  'the temporary folder': ['head -c 500000000 /dev/zero > /tmp/x; du -s /tmp', undefined],
  'shared memory': ['head -c 500000000 /dev/zero > /dev/shm/x; du -s /dev/shm', undefined],
  'a processor': ['while :; do :; done', undefined],
  output: ['yes', undefined],
};

describe.skipIf(reason !== '')('the wall alone, without lists', () => {
  let scene: EscapeScene;
  let before: unknown;
  beforeAll(async () => {
    scene = await new EscapeScene().open();
    before = scene.surroundings();
  });
  afterAll(() => scene.close());
  const NOTHING = { connections: 0, written: [], running: [], leaked: false };
  const ran = new Set<string>();

  test.concurrent.for(Object.entries(RUNS))(
    'holds what runs by %s [commands.wall]',
    async ([name, line], { expect }) => {
      const { effects, ...run } = await scene.run(line);
      expect(effects).toEqual(NOTHING);
      if (run.ran) ran.add(name);
    },
  );

  test.concurrent.for(Object.entries(OUT))(
    'has no way out by %s [commands.wall]',
    async ([, line], { expect }) => {
      const { effects, said } = await scene.run(line);
      expect(said).not.toContain('ESCAPED\n');
      expect(effects).toEqual(NOTHING);
    },
  );

  test.for(Object.entries(GREEDY))('bounds %s [commands.limits]', async ([, [line, problem]]) => {
    const { effects, end } = await scene.run(line, { time: '6s', cpu: 3 });
    expect(effects).toEqual(NOTHING);
    expect(end.stdout.length + end.stderr.length).toBeLessThan(600_000);
    if (problem !== undefined) expect(end.exceeded ?? end.stderr).toMatch(problem);
  });

  test('leaves the machine as it was [commands.wall]', () => {
    expect(scene.surroundings()).toEqual(before);
  });

  test('is what held them: the lines do run, and without it the payload has its effects [commands.wall]', async () => {
    expect(Object.keys(RUNS).filter((name) => !ran.has(name)).length).toBeLessThan(12);
    const { outside, other } = scene;
    const effects = await scene.runFree();
    expect(effects).toEqual({ connections: 1, written: [outside, other], running: [], leaked: true });
  });
});

if (reason !== '')
  test('escapes are not tried: there is no wall here', ({ skip }) => {
    skip(true, `no bubblewrap: ${reason}; ${Object.keys({ ...RUNS, ...OUT, ...GREEDY }).length} cases`);
  });
