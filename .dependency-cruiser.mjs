/**
 * The rooms of `src`, and the modules in each: imports run one way, so each sees those before it in this list and nothing after
 * it. A module in the folder of another one (`auth/audit`) has an entry of its own.
 */
export const LAYERS = [
  // Technology that knows no word of the domain.
  ['platform/config/'],
  ['platform/(?!config/)'],

  // Who may do what: what a route requires, and the guards that enforce it.
  ['access/'],

  // What the API is about.
  ['domain/auth/audit/'],
  ['domain/auth/(?!audit/|access-tokens/)'],
  ['domain/billing/'],
  ['domain/workspaces/(?!key-slots/)'],
  ['domain/workspaces/key-slots/', 'domain/devices/(?!web-push/)'],
  ['domain/files/(?!batches/)'],
  ['domain/files/batches/', 'domain/sync/'],
  [
    'domain/accounts/',
    'domain/assets/(?!usage/)',
    'domain/auth/access-tokens/',
    'domain/checkpoints/',
    'domain/devices/web-push/',
    'domain/realtime/',
    'domain/retention/',
  ],
  ['domain/assets/usage/', 'domain/automation/'],

  // Pages for browsers.
  ['web/layout/'],
  ['web/(?!layout/)'],

  // What operators use: health, backup, the admin command.
  ['operations/'],
];

/** Modules in the folder of another one that have an entry of their own. */
export const INNER = [
  'accounts/export',
  'accounts/notices',
  'assets/usage',
  'auth/access-tokens',
  'auth/audit',
  'devices/web-push',
  'files/batches',
  'workspaces/key-slots',
];

const oneWay = LAYERS.flatMap((names, index) => {
  const above = LAYERS.slice(index + 1).flat();
  if (above.length === 0) return [];
  return [
    {
      name: `${names[0]?.replace(/\/(\(.*)?$/, '')}-sees-nothing-above`,
      comment: 'A layer sees the layers below it and nothing above: see the list in this file.',
      severity: 'error',
      from: { path: `^src/(${names.join('|')})` },
      to: { path: `^src/(${above.join('|')})` },
    },
  ];
});

export default {
  forbidden: [
    ...oneWay,
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'enter-a-module-through-its-index',
      severity: 'error',
      from: { path: '^src/([^/]+/[^/]+)/' },
      to: {
        path: '^src/(platform|domain|web|operations)/[^/]+/.+',
        pathNot: ['^src/$1/', '^src/[^/]+/[^/]+/index\\.ts$', `^src/domain/(${INNER.join('|')})/index\\.ts$`],
      },
    },
    ...INNER.map((name) => ({
      name: `enter-${name.replace('/', '-')}-through-its-index`,
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/domain/${name}/` },
      to: { path: `^src/domain/${name}/.+`, pathNot: `^src/domain/${name}/index\\.ts$` },
    })),
    {
      name: 'enter-a-module-through-its-index-too',
      comment: 'The same for files that stand in a room by themselves.',
      severity: 'error',
      from: { path: '^src/(access/|platform/[^/]+\\.ts$)' },
      to: {
        path: '^src/(platform|domain|web|operations)/[^/]+/.+',
        pathNot: ['^src/[^/]+/[^/]+/index\\.ts$'],
      },
    },
    {
      name: 'enter-access-through-its-index',
      severity: 'error',
      from: { path: '^src/(?!access/)' },
      to: { path: '^src/access/.+', pathNot: '^src/access/index\\.ts$' },
    },
    {
      name: 'nobody-imports-the-app',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: '^src/operations/admin/' },
      to: { path: '^src/[^/]+\\.ts$' },
    },
    {
      name: 'no-undeclared-packages',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'client-knows-no-service',
      comment: 'The client is a package of its own: it knows the service by HTTP alone.',
      severity: 'error',
      from: { path: '^client/' },
      to: { path: '^(src|examples|bench|test)/' },
    },
    {
      name: 'crypto-knows-nobody',
      comment: 'The published cryptography, for the service and for clients.',
      severity: 'error',
      from: { path: '^crypto/' },
      to: { path: '^(src|client|examples|bench|test)/' },
    },
    {
      name: 'enter-crypto-through-its-index',
      severity: 'error',
      from: { pathNot: '^(crypto|test)/' },
      to: { path: '^crypto/', pathNot: '^crypto/src/index\\.ts$' },
    },
    {
      name: 'client-enters-crypto-in-one-file',
      severity: 'error',
      from: { path: '^client/', pathNot: '^client/src/core/crypto/index\\.ts$' },
      to: { path: '^crypto/' },
    },
    {
      name: 'client-core-and-crypto-run-in-browsers',
      severity: 'error',
      from: { path: '^(client/src/core|crypto)/' },
      to: {
        path: '^(client/src/(folder|cli)/|(node:)?(fs|crypto|path|os|net|http|https|stream|child_process|worker_threads)(/|$))',
        pathNot: '^crypto/src/',
      },
    },
    {
      name: 'client-folder-knows-no-command',
      severity: 'error',
      from: { path: '^client/src/folder/' },
      to: { path: '^client/src/cli/' },
    },
    {
      name: 'examples-know-no-service',
      severity: 'error',
      from: { path: '^examples/' },
      to: { path: '^src/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.js'],
      conditionNames: ['import', 'types', 'node'],
    },
    exclude: { path: '^dist/' },
  },
};
