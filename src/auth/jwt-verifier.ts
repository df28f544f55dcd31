import { Injectable } from '@nestjs/common';
import { jwtVerify, errors } from 'jose';
import { isUUID } from 'class-validator';
import { Configuration } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { Unauthorized } from '../platform/http/index.js';
import { KeySet } from './key-set.js';

/** Verifies service JWTs: RS256 alone, ours alone (iss, aud), not without an end (exp). */
@Injectable()
export class JwtVerifier {
  constructor(
    private readonly configuration: Configuration,
    private readonly keySet: KeySet,
    private readonly clock: Clock,
  ) {}

  /** The user that the token names, and its end. @throws Unauthorized for every token that is not wholly in order */
  async verify(token: string): Promise<{ userId: string; expiresAt: Date }> {
    try {
      const { payload } = await jwtVerify(token, (header) => this.keySet.find(header), {
        algorithms: ['RS256'],
        issuer: this.configuration.publicUrl,
        audience: this.configuration.publicUrl,
        requiredClaims: ['exp', 'sub'], // without this, a token that has no exp would never expire
        currentDate: this.clock.now(),
      });
      if (!isUUID(payload.sub)) throw new Unauthorized();
      return { userId: payload.sub as string, expiresAt: new Date((payload.exp ?? 0) * 1000) };
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof TypeError) throw new Unauthorized();
      throw error;
    }
  }
}
