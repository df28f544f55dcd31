// Faults in how the service is deployed.

const WATCHDOG = 'test/process/watchdog.spec.ts';
const NGINX = 'test/process/nginx.spec.ts';
const FILES = 'test/contract/deployment.spec.ts';
const HOSTS = 'test/contract/deployment-hosts.spec.ts';

export const DEPLOYMENT_MUTANTS = [
  {
    name: 'nginx spools answers into files',
    promise: 'A download of any size arrives through nginx, whatever its user can write.',
    file: 'ops/nginx/snippets/cloud-sync.conf',
    find: 'proxy_max_temp_file_size 0;',
    replace: '',
    tests: [[NGINX, '100 MiB arrive whole']],
  },
  {
    name: 'nginx believes the client',
    promise: 'Nobody chooses the address that rate limits count.',
    file: 'ops/nginx/snippets/cloud-sync.conf',
    find: 'X-Forwarded-For $remote_addr',
    replace: 'X-Forwarded-For $http_x_forwarded_for',
    tests: [[NGINX, 'says who the client is']],
  },
  {
    name: 'nginx logs the errors of sockets',
    promise: 'No proxy writes down the token in the address of a socket.',
    file: 'ops/nginx/snippets/cloud-sync.conf',
    find: '  error_log /dev/null;\n',
    replace: '',
    tests: [[NGINX, 'writes down no token']],
  },
  {
    name: 'hung service left alone',
    promise: 'A service that stops responding is ended, and so restarted.',
    file: 'ops/watchdog.mjs',
    find: 'else if (failures !== undefined) failures += 1;',
    replace: 'else if (failures !== undefined) failures += 0;',
    also: [{ find: 'if (failures < FAILURES)', replace: 'if (failures < Infinity)' }],
    tests: [[WATCHDOG, 'is killed when it stops responding']],
  },
  {
    name: 'watchdog kills a service that drains',
    promise: 'A service that has been asked to end finishes its requests.',
    file: 'ops/watchdog.mjs',
    find: 'if (isStopping) return;',
    replace: '',
    tests: [[WATCHDOG, 'kills nothing that has been asked to end']],
  },
  {
    name: 'watchdog kills a long start',
    promise: 'A start takes as long as its migrations do.',
    file: 'ops/watchdog.mjs',
    find: 'let failures;',
    replace: 'let failures = 0;',
    tests: [[WATCHDOG, 'waits for the first answer']],
  },
  {
    name: 'secret overwritten',
    promise: 'A secret that exists is never replaced: data would be lost with it.',
    file: 'scripts/make-env.sh',
    find: '[ ! -e "secrets/$1" ] || return 0',
    replace: 'rm -f "secrets/$1"',
    tests: [[FILES, 'overwrites nothing']],
  },
  {
    name: 'settings readable by everybody',
    promise: 'Settings, which may be secrets, are readable by their owner alone.',
    file: 'scripts/make-env.sh',
    find: '(umask 077 && settings >"$draft")',
    replace: '(umask 022 && settings >"$draft")',
    tests: [[FILES, 'makes a secret of its own']],
  },
  {
    name: 'egress of Kubernetes without limits',
    promise: 'On Kubernetes the service connects to nothing but what it needs.',
    file: 'ops/kubernetes/base/network-policy.yaml',
    find: 'policyTypes: [Ingress, Egress]',
    replace: 'policyTypes: [Ingress]',
    tests: [[HOSTS, 'port by port']],
  },
];
