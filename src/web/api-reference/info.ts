/** What the API document says of the whole API. */
export const INFO = {
  title: 'Cloud Sync Service',
  version: '1',
  description: [
    'Sync, version history and assets for end-to-end encrypted workspaces. The client encrypts paths, contents, ' +
      'labels and file names. The service never sees them in plaintext, except in the Automation API while a key ' +
      'session is presented.',
    'Every answer has `X-Request-Id`. Every error is `{ "error": string }`, with more fields where documented. Errors of the ' +
      'identity handler have their own format. In addition to the listed ' +
      'answers, any request can get 400 (malformed request, no Host, or text that is not UTF-8), 404 (no such URL), ' +
      '408 (the body took too long), 415 (encoded body), 431 (headers too large) or 500.',
    'Each GET route accepts HEAD too. 429 and 503 have `Retry-After` in seconds. A request that got one of them ' +
      'changed nothing and can be repeated.',
  ].join('\n\n'),
};

export const TAGS = [
  { name: 'Identity', description: 'Sessions and service JWTs.' },
  { name: 'Factors', description: 'Second factor and passkeys.' },
  { name: 'Account', description: 'The user behind the token.' },
  { name: 'Access tokens', description: 'Personal access tokens, for tools.' },
  { name: 'Subscription', description: 'Trial, payment events and subscription state.' },
  { name: 'Workspaces', description: 'Workspaces, each with its own encryption key.' },
  {
    name: 'Key slots',
    description:
      'The master key of a workspace, encrypted by clients under passwords, recovery keys and passkeys.',
  },
  { name: 'Files', description: 'The encrypted files of a workspace.' },
  { name: 'Versions', description: 'The versions of a file.' },
  { name: 'Sync', description: 'The change log: snapshot, pull, push.' },
  { name: 'Checkpoints', description: 'Marks in the change log, and the views computed from them.' },
  { name: 'Live room', description: 'Notification of changes over a WebSocket.' },
  { name: 'Devices', description: 'Registered devices and Web Push.' },
  { name: 'Assets', description: 'Encrypted files beside the change log.' },
  { name: 'Usage', description: 'The storage use and quotas of an account.' },
  { name: 'Automation', description: 'Notes in plaintext, for headless tools with a key session.' },
  { name: 'Pages', description: 'Pages for browsers.' },
  { name: 'Service', description: 'Health, and this document.' },
] as const;

/** For which the tag in camel case would not read well. */
export const GROUPS = { Account: 'auth' } as const;
