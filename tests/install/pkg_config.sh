# pkg_config.sh PKG_CONFIG LIBRARY_FOLDER COMPILER_AND_FLAGS SOURCE FOLDER: builds and runs a program by what pkg-config says.
set -eu
rm -rf "$5"
mkdir -p "$5"
export PKG_CONFIG_PATH="$2/pkgconfig"
$3 -o "$5/multiply" "$4" $("$1" --cflags --libs gemmsmith) -lm -Wl,-rpath,"$2"
"$5/multiply" "$5/store.sqlite"
