import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsObject,
  IsOptional,
  Matches,
  ValidateNested,
} from 'class-validator';
import { CONTENT_HASH, ENCRYPTED_PATH, ENCRYPTED_PATH_RULE } from '../index.js';

export class DownloadItem {
  @Matches(ENCRYPTED_PATH, { message: `encryptedPath ${ENCRYPTED_PATH_RULE}` })
  encryptedPath: string;

  /** The content that the client has. */
  @IsOptional()
  @Matches(CONTENT_HASH, { message: 'contentHash must be 64 hex characters' })
  contentHash?: string | null;
}

export class BatchDownloadRequest {
  @Type(() => DownloadItem)
  @ValidateNested({ each: true })
  @IsObject({ each: true }) // a null item would pass the nested validation
  @ArrayMaxSize(1000)
  @ArrayMinSize(1)
  @IsArray()
  items: DownloadItem[];
}
