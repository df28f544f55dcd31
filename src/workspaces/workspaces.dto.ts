import { Transform } from 'class-transformer';
import { Matches } from 'class-validator';
import { IsName } from '../platform/http/index.js';

const HEX_32_BYTES = /^[0-9a-f]{64}$/i;

const lowerCase = Transform(({ value }: { value: unknown }) =>
  typeof value === 'string' ? value.toLowerCase() : value,
);

export class CreateWorkspaceRequest {
  @IsName()
  name: string;
}

export class SetupEncryptionRequest {
  @lowerCase
  @Matches(HEX_32_BYTES, { message: 'encryptionSalt must be 64 hex characters' })
  encryptionSalt: string;

  @lowerCase
  @Matches(HEX_32_BYTES, { message: 'verificationHash must be 64 hex characters' })
  verificationHash: string;

  @lowerCase
  @Matches(/^(?:[0-9a-f]{2}){16,64}$/i, { message: 'verificationSalt must be 32 to 128 hex characters' })
  verificationSalt: string;
}

export class VerifyPasswordRequest {
  @lowerCase
  @Matches(HEX_32_BYTES, { message: 'verificationHash must be 64 hex characters' })
  verificationHash: string;
}
