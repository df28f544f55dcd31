import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { CONTENT_HASH, DEVICE_ID, ENCRYPTED_PATH } from '../files/index.js';

const DEVICE_ID_RULE = { message: 'deviceId must be 1 to 128 visible ASCII characters' };

export class PushedChange {
  @Matches(ENCRYPTED_PATH, { message: 'encryptedPath must be 1 to 4096 base64url characters' })
  encryptedPath: string;

  @IsString()
  action: string;

  @IsOptional()
  @Matches(CONTENT_HASH, { message: 'contentHash must be 64 hex characters' })
  contentHash?: string | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  encryptedSize?: number | null;
}

export class PushRequest {
  @Matches(DEVICE_ID, DEVICE_ID_RULE)
  deviceId: string;

  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  baseCursor: number;

  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(1000)
  @IsObject({ each: true }) // a null row would pass the nested validation
  @ValidateNested({ each: true })
  @Type(() => PushedChange)
  changes: PushedChange[];
}

export class PullRequest {
  @Matches(DEVICE_ID, DEVICE_ID_RULE)
  deviceId: string;

  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  cursor: number;

  @IsOptional()
  @IsNumber()
  limit?: number | null;
}
