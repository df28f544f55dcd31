/** The clients' cryptography: pure, without a framework. `key-slots` stores only what its readers accept. */
const CRYPTOGRAPHY = '^src/domain/automation/(vault|key-slot)-crypto\\.ts$';

/**
 * Imports run one way: each layer sees those before it in this list, and nothing after it. `access` and `api-docs` have two
 * entries: what a route says of itself, which every controller reads, and in a folder of their own what makes use of it.
 */
const LAYERS = [
  ['config/'],
  ['platform/'],
  ['access/[^/]+\\.ts', 'api-docs/[^/]+\\.ts', 'audit/', 'storage/', 'mail/'],
  ['auth/'],
  ['billing/'],
  ['access/guards/'],
  ['workspaces/'],
  ['devices/', 'key-slots/'],
  ['files/'],
  ['sync/', 'batches/', 'pages/'],
  [
    'checkpoints/',
    'realtime/',
    'assets/',
    'access-tokens/',
    'sign-in-pages/',
    'mail-pages/',
    'notices/',
    'web-push/',
    'retention/',
    'export/',
    'account/',
    'backup/',
  ],
  ['automation/', 'usage/'],
  ['health/', 'api-docs/site/'],
  ['admin-pages/'],
  ['admin/'],
];

const oneWay = LAYERS.flatMap((names, index) => {
  const above = LAYERS.slice(index + 1).flat();
  if (above.length === 0) return [];
  return [
    {
      name: `${names[0]?.split('/', 1)[0]}-sees-nothing-above`,
      comment: 'A layer sees the layers below it and nothing above: see the list in this file.',
      severity: 'error',
      from: { path: `^src/(${names.join('|')})` },
      to: { path: `^src/(${above.join('|')})`, pathNot: CRYPTOGRAPHY },
    },
  ];
});

export default {
  forbidden: [
    ...oneWay,
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'enter-a-folder-through-its-index',
      severity: 'error',
      from: { path: '^src/([^/]+)/' },
      to: {
        path: '^src/(?!platform)([^/]+)/.+',
        pathNot: [
          '^src/$1/',
          '^src/[^/]+/index\\.ts$',
          '^src/(access/guards|api-docs/site)/index\\.ts$',
          CRYPTOGRAPHY,
        ],
      },
    },
    {
      name: 'enter-a-platform-folder-through-its-index',
      severity: 'error',
      from: { path: '^src/(?:platform/)?([^/]+)/' },
      to: {
        path: '^src/platform/([^/]+)/.+',
        pathNot: ['^src/platform/$1/', '^src/platform/[^/]+/index\\.ts$'],
      },
    },
    {
      name: 'platform-knows-no-domain',
      severity: 'error',
      from: { path: '^src/platform/' },
      to: { path: '^src/(?!platform/|config/)' },
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
      name: 'client-core-runs-in-browsers',
      severity: 'error',
      from: { path: '^client/src/core/' },
      to: {
        path: '^(client/src/(folder|cli)/|(node:)?(fs|crypto|path|os|net|http|https|stream|child_process|worker_threads)(/|$))',
      },
    },
    {
      name: 'client-folder-knows-no-command',
      severity: 'error',
      from: { path: '^client/src/folder/' },
      to: { path: '^client/src/cli/' },
    },
    {
      name: 'examples-use-cryptography-alone',
      severity: 'error',
      from: { path: '^examples/' },
      to: { path: '^src/', pathNot: CRYPTOGRAPHY },
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
