import { IsOptional, IsString, Length, Matches } from 'class-validator';

/** 32 bytes in the one spelling that standard base64 has for them. */
const KEY = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

/** One of the two. */
export class OpenKeySessionRequest {
  @IsOptional()
  @Length(1, 1024, { message: 'password must be 1 to 1024 characters' })
  @IsString()
  password?: string | null;

  @IsOptional()
  @Matches(KEY, { message: 'key must be 32 bytes in base64' })
  @IsString()
  key?: string | null;
}
