import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  HttpCode,
  Injectable,
  Post,
  Req,
  UseGuards,
} from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AccountSuspended, Public } from '../../access/index.js';
import { AuditLog, byUser } from './audit/index.js';
import { Documented, json, objectOf, STRING, UUID } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import { addressKey, Forbidden, IsName, JsonBody } from '../../platform/http/index.js';
import { KillSwitch, OpenWhenReadOnly } from '../../platform/kill-switch.js';
import { RateLimiter } from '../../platform/limits/index.js';
import { IsEmailAddress } from './account-fields.js';
import { SecondFactors } from './factors/index.js';
import { equalSecrets } from './pat-verifier.js';
import type { UserEntity } from './auth.entities.js';
import { Users } from './users.js';

const TRIES_PER_MINUTE = 10;

/** Answers 403 unless the key is configured and the header contains it. */
@Injectable()
export class DevLoginGuard implements CanActivate {
  constructor(
    private readonly configuration: Configuration,
    private readonly rateLimiter: RateLimiter,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { devLoginKey } = this.configuration;
    if (!devLoginKey) throw new Forbidden('dev-login is not enabled');

    await this.rateLimiter.hit(`dev-login:${addressKey(request.ip)}`, TRIES_PER_MINUTE);
    const key = request.headers['x-dev-login-key'];
    if (typeof key !== 'string' || !equalSecrets(key, devLoginKey))
      throw new Forbidden('the dev-login key is wrong');
    return true;
  }
}

class DevLoginRequest {
  @IsEmailAddress()
  email: string;

  @IsName()
  name: string;
}

interface DevLoginAnswer {
  token: string;
  userId: string;
  email: string;
  name: string;
}

const DEV_LOGIN_DOCS = {
  tag: 'Account',
  operations: {
    devLogin: {
      summary: 'Get a service JWT for any email',
      description: 'For tests and development. Creates the user if it does not exist.',
      headers: { 'X-Dev-Login-Key': { description: 'The DEV_LOGIN_KEY of the service.', isRequired: true } },
      answers: {
        200: json(
          'the token',
          objectOf<DevLoginAnswer>({ token: STRING, userId: UUID, email: STRING, name: STRING }),
        ),
        403: 'dev-login is not enabled, the key is wrong, or the account is suspended or has a second factor',
      },
    },
  },
} as const;

/**
 * Returns the JWT of a new session for any email, for tests and development only. It does not bypass a second factor. In
 * production, where the key opens any account, each use is in the audit log.
 */
@Controller('api/v1/auth/dev-login')
@Documented(DEV_LOGIN_DOCS)
export class DevLoginController {
  constructor(
    private readonly configuration: Configuration,
    private readonly users: Users,
    private readonly factors: SecondFactors,
    private readonly audit: AuditLog,
    private readonly killSwitch: KillSwitch,
  ) {}

  @Post()
  @OpenWhenReadOnly('signs in')
  @HttpCode(200)
  @Public('X-Dev-Login-Key is checked by DevLoginGuard')
  @UseGuards(DevLoginGuard)
  async devLogin(@JsonBody() body: DevLoginRequest, @Req() request: FastifyRequest): Promise<DevLoginAnswer> {
    const user = await this.account(body);
    if (user.suspendedAt) throw new AccountSuspended();
    if ((await this.factors.codesLeft(user.id)) !== null)
      throw new Forbidden('the account has a second factor: sign in with it');
    const { id: userId, email, name } = user;
    const by = byUser(request);
    const token = await this.users.signIn(userId, by);
    if (this.configuration.isProduction)
      await this.audit.record({ action: 'sign-in.development', userId, ...by });
    return { token, userId, email, name };
  }

  /** @throws ServiceUnavailable for a new user while read-only */
  private async account({ email, name }: DevLoginRequest): Promise<UserEntity> {
    const refusal = this.killSwitch.refusal('read-only');
    if (!refusal) return this.users.findOrCreate(email, name);
    const user = await this.users.findByEmail(email);
    if (!user) throw refusal;
    return user;
  }
}
