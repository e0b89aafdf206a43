// Paths in strings.
#include "common.h"
#include <limits.h>

@implementation NSString (Paths)
- (BOOL)isAbsolutePath { return *_text == '/' || *_text == '~'; }
- (NSString *)trimmedPath {
    size_t size = _size;
    while (size > 1 && _text[size - 1] == '/')
        size--;
    return [[[NSString alloc] initWithBytes:_text length:size encoding:NSUTF8StringEncoding] autorelease];
}
- (NSString *)lastPathComponent {
    const char *path = [self trimmedPath].UTF8String, *slash = strrchr(path, '/');
    return slash && slash[1] ? [NSString stringWithUTF8String:slash + 1] : [NSString stringWithUTF8String:path];
}
- (NSString *)stringByDeletingLastPathComponent {
    const char *path = [self trimmedPath].UTF8String, *slash = strrchr(path, '/');
    if (!slash)
        return @"";
    return slash == path ? @"/" : mt_text("%.*s", (int)(slash - path), path);
}
- (NSString *)pathExtension {
    const char *name = self.lastPathComponent.UTF8String, *dot = strrchr(name, '.');
    return dot && dot != name ? [NSString stringWithUTF8String:dot + 1] : @"";
}
- (NSString *)stringByDeletingPathExtension {
    NSString *extension = self.pathExtension, *path = [self trimmedPath];
    return extension.length ? [path substringToIndex:path.length - extension.length - 1] : path;
}
- (NSString *)stringByAppendingPathComponent:(NSString *)component {
    const char *more = component.UTF8String, *path = [self trimmedPath].UTF8String;
    while (*path && *more == '/')
        more++;
    return !*path ? component : mt_text("%s%s%s", path, strcmp(path, "/") ? "/" : "", more);
}
- (NSString *)stringByAppendingPathExtension:(NSString *)extension {
    return mt_text("%s.%s", [self trimmedPath].UTF8String, extension.UTF8String);
}
- (NSString *)stringByExpandingTildeInPath {
    return *_text == '~' && (!_text[1] || _text[1] == '/') ? mt_text("%s%s", NSHomeDirectory().UTF8String, _text + 1) : self;
}
- (NSString *)stringByStandardizingPath {
    char real[PATH_MAX];
    NSString *path = self.stringByExpandingTildeInPath;
    return realpath(path.UTF8String, real) ? [NSString stringWithUTF8String:real] : [path trimmedPath];
}
- (NSArray *)pathComponents {
    NSMutableArray *parts = [NSMutableArray array];
    if (*_text == '/')
        [parts addObject:@"/"];
    for (NSString *part in [self componentsSeparatedByString:@"/"])
        if (part.length)
            [parts addObject:part];
    return parts;
}
@end
