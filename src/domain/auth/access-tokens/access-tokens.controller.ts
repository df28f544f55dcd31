import { Controller, Delete, Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { byUser } from '../audit/index.js';
import type { AccessToken } from '../index.js';
import { CurrentPrincipal, Interactive, type Principal, SCOPES } from '../../../access/index.js';
import {
  arrayOf,
  Documented,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  OK,
  oneOf,
  STRING,
  UUID,
} from '../../../platform/api-docs/index.js';
import { JsonBody, sendJsonList } from '../../../platform/http/index.js';
import { AccessTokens, MintTokenRequest } from './access-tokens.service.js';

type AccessTokenWire = ReturnType<typeof accessTokenWire>;

const accessTokenWire = (token: AccessToken) => ({
  id: token.id,
  name: token.name,
  created_at: token.createdAt.toISOString(),
  last_used_at: token.lastUsedAt?.toISOString() ?? null,
  expires_at: token.expiresAt?.toISOString() ?? null,
  revoked_at: token.revokedAt?.toISOString() ?? null,
  scopes: token.scopes,
  workspace_id: token.workspaceId,
});

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

const ACCESS_TOKENS_DOCS = {
  tag: 'Access tokens',
  operations: {
    list: {
      summary: 'List the personal access tokens, newest first',
      description:
        'Of the revoked and expired tokens, the newest 10,000 are listed too. The token secrets are never returned.',
      answers: {
        200: json('the metadata of each token', objectOf({ tokens: arrayOf(TOKEN) })),
      },
    },
    mint: {
      id: 'accessTokens.create',
      summary: 'Create a personal access token',
      description: 'The default scope is `full`. With a workspace, the token can access only that workspace.',
      answers: {
        201: json('the token, which is returned only once', MINTED),
        404: 'workspace not found',
        409: 'the user already has 1,000 tokens that are neither revoked nor expired',
      },
    },
    revoke: {
      summary: 'Revoke a personal access token',
      path: { id: { description: 'The id of the token.' } },
      description:
        'The token stops working at once, and the WebSockets that it opened are closed. It stays in the list.',
      answers: { 200: json('the token is revoked', OK), 404: 'token not found' },
    },
  },
} as const;

/** Tokens cannot create, list or revoke tokens: every route here needs an interactive session. */
@Controller('api/v1/auth/tokens')
@Documented(ACCESS_TOKENS_DOCS)
@Interactive()
export class AccessTokensController {
  constructor(private readonly accessTokens: AccessTokens) {}

  @Get()
  async list(@CurrentPrincipal() { userId }: Principal, @Res() reply: FastifyReply): Promise<void> {
    const form = { before: '{"tokens":[', after: ']}', wire: accessTokenWire };
    await sendJsonList(reply, this.accessTokens.list(userId), form);
  }

  @Post()
  async mint(
    @CurrentPrincipal() principal: Principal,
    @JsonBody() body: MintTokenRequest,
    @Req() request: FastifyRequest,
  ): Promise<AccessTokenWire & { token: string }> {
    const { token, raw } = await this.accessTokens.mint(principal, body, byUser(request));
    return { ...accessTokenWire(token), token: raw };
  }

  @Delete(':id')
  async revoke(
    @CurrentPrincipal() principal: Principal,
    @Param('id') id: string,
    @Req() request: FastifyRequest,
  ): Promise<{ ok: true }> {
    await this.accessTokens.revoke(principal.userId, id, byUser(request));
    return { ok: true };
  }
}
