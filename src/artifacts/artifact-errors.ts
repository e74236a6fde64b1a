import { codedError, HoldfastError } from '../contract/error.ts';

/** A failure of artifacts. */
export class ArtifactError extends HoldfastError {}

/** A name that no artifact can have. */
export class InvalidArtifactName extends codedError('HOLDFAST_INVALID_ARTIFACT_NAME', ArtifactError) {}

/** The value can’t be saved: it is no part, or a part without bytes, text or address. */
export class InvalidArtifact extends codedError('HOLDFAST_INVALID_ARTIFACT', ArtifactError) {}

/** More bytes than an artifact may have. */
export class ArtifactTooLarge extends codedError('HOLDFAST_ARTIFACT_TOO_LARGE', ArtifactError) {}

/** The bytes that were read are not those that were saved. */
export class ArtifactCorrupt extends codedError('HOLDFAST_ARTIFACT_CORRUPT', ArtifactError) {}

/** The bucket refuses, or can't be reached. */
export class BucketFailed extends codedError('HOLDFAST_BUCKET_FAILED', ArtifactError) {}

/** The bytes are in a bucket that this process has no settings for. */
export class UnknownBucket extends codedError('HOLDFAST_UNKNOWN_BUCKET', ArtifactError) {}

/** The session and its user have no artifact of this name, or not in this version. */
export class NoSuchArtifact extends codedError('HOLDFAST_NO_SUCH_ARTIFACT', ArtifactError) {}

/** The app's own artifact service threw, or its answer is of another type. */
export class ArtifactServiceFailed extends codedError('HOLDFAST_ARTIFACT_SERVICE_FAILED', ArtifactError) {}

/** The artifact is an address: Holdfast doesn't have the bytes, and fetches no address that a model may have written. */
export class ArtifactElsewhere extends codedError('HOLDFAST_ARTIFACT_ELSEWHERE', ArtifactError) {}
