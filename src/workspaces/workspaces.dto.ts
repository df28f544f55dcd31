import { Transform } from 'class-transformer';
import { Matches } from 'class-validator';

const HEX_32_BYTES = /^[0-9a-f]{64}$/i;
/** Counts code points, as the table's own constraint does (`@Length` does not); half a surrogate pair is no text. */
const NAME = /^[^\p{Cc}\p{Cs}]{1,255}$/u;

const lowerCase = Transform(({ value }: { value: unknown }) =>
  typeof value === 'string' ? value.toLowerCase() : value,
);
const trimmed = Transform(({ value }: { value: unknown }) =>
  typeof value === 'string' ? value.trim() : value,
);

export class CreateWorkspaceRequest {
  @trimmed
  @Matches(NAME, { message: 'name must be 1 to 255 characters, without control characters' })
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
