import { Controller, Delete, Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CurrentPrincipal, Interactive, type Principal } from '../access/index.js';
import { JsonBody, sendJsonList } from '../platform/http/index.js';
import { Documented } from '../api-docs/index.js';
import { ACCESS_TOKENS_DOCS } from './access-tokens.docs.js';
import { MintTokenRequest } from './access-tokens.dto.js';
import { AccessTokens } from './access-tokens.service.js';
import { accessTokenWire, type AccessTokenWire } from './access-tokens.wire.js';

/** A token cannot make, see or end tokens: all of this needs an interactive session. */
@Controller('api/v1/auth/tokens')
@Documented(ACCESS_TOKENS_DOCS)
@Interactive()
export class AccessTokensController {
  constructor(private readonly accessTokens: AccessTokens) {}

  @Get()
  async list(
    @CurrentPrincipal() { userId }: Principal,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const form = { before: '{"tokens":[', after: ']}', wire: accessTokenWire };
    await sendJsonList(request, reply, this.accessTokens.list(userId), form);
  }

  @Post()
  async mint(
    @CurrentPrincipal() principal: Principal,
    @JsonBody() body: MintTokenRequest,
  ): Promise<AccessTokenWire & { token: string }> {
    const { token, raw } = await this.accessTokens.mint(principal.userId, body);
    return { ...accessTokenWire(token), token: raw };
  }

  @Delete(':id')
  async revoke(@CurrentPrincipal() principal: Principal, @Param('id') id: string): Promise<{ ok: true }> {
    await this.accessTokens.revoke(principal.userId, id);
    return { ok: true };
  }
}
