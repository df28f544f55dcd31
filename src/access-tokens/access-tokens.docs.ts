import { SCOPES } from '../access/index.js';
import {
  arrayOf,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  OK,
  oneOf,
  STRING,
  UUID,
} from '../api-docs/index.js';
import type { AccessTokenWire } from './access-tokens.wire.js';

const METADATA = {
  id: UUID,
  name: STRING,
  created_at: INSTANT,
  last_used_at: nullable(INSTANT),
  expires_at: nullable(INSTANT),
  revoked_at: nullable(INSTANT),
  scopes: arrayOf(oneOf(...SCOPES)),
  workspace_id: nullable(UUID),
};

const TOKEN = named('AccessToken', objectOf<AccessTokenWire>(METADATA));

const MINTED = named(
  'MintedAccessToken',
  objectOf<AccessTokenWire & { token: string }>({
    ...METADATA,
    token: { type: 'string', pattern: '^pat_[A-Za-z0-9_-]{43}$' },
  }),
);

export const ACCESS_TOKENS_DOCS = {
  tag: 'Access tokens',
  operations: {
    list: {
      summary: 'Personal access tokens, newest first',
      description:
        'Revoked and expired ones are listed as well, as long as they are among the newest 10,000 of these; the tokens ' +
        'themselves never are.',
      answers: {
        200: json('what is known of each', objectOf<{ tokens: unknown }>({ tokens: arrayOf(TOKEN) })),
      },
    },
    mint: {
      summary: 'Make a personal access token',
      description: 'Scopes are `full` unless said. With a workspace, the token opens that one alone.',
      answers: {
        201: json('the token, which is shown this once', MINTED),
        404: 'workspace not found',
        409: 'the user has 1,000 tokens that are neither revoked nor expired already',
      },
    },
    revoke: {
      summary: 'Revoke a token',
      path: { id: { description: 'The token.' } },
      description: 'It ends at once, with the WebSockets that it opened. It stays listed.',
      answers: { 200: json('it is revoked', OK), 404: 'token not found' },
    },
  },
} as const;
