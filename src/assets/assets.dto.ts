import { ArrayMaxSize, ArrayUnique, IsArray, Matches } from 'class-validator';
import { ASSET_TOKEN, ASSET_TOKEN_RULE, NEW_ASSET_TOKEN, NEW_ASSET_TOKEN_RULE } from './asset-headers.js';

/** The last decorator of a property is checked first, so its type stands nearest to it. */

export class RenameAssetRequest {
  @Matches(NEW_ASSET_TOKEN, { message: `newEncryptedFilename ${NEW_ASSET_TOKEN_RULE}` })
  newEncryptedFilename: string;
}

export class DeleteAssetsRequest {
  @Matches(ASSET_TOKEN, { each: true, message: `each of tokens ${ASSET_TOKEN_RULE}` })
  @ArrayUnique()
  @ArrayMaxSize(1000)
  @IsArray()
  tokens: string[];
}
